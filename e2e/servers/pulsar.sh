#!/usr/bin/env bash
# A real Apache Pulsar broker with its BookKeeper storage in one JVM (standalone mode, RocksDB metadata, loopback only).
#   pulsar.sh install | start | stop | kill | wipe
# Prints the service URL and the admin URL that tests read as RANKWRIGHT_TEST_PULSAR. $PULSAR_PORT is the binary protocol, +1 the
# admin REST API, +2 the bookie, +3 the binary protocol over TLS with a certificate of the test CA.
. "$(dirname "$0")/lib.sh"
PULSAR_VERSION=${PULSAR_VERSION:-4.0.7}
PULSAR_PORT=${PULSAR_PORT:-16650}
PULSAR_HEAP=${PULSAR_HEAP:-384m} PULSAR_DIRECT=${PULSAR_DIRECT:-384m}
data=$SERVERS_RUN/pulsar

install() {
    command -v java > /dev/null || packages openjdk-17-jre-headless
    # Pulsar's parent POM as a list of managed versions: without it Maven mixes versions of jackson, log4j and netty.
    jars pulsar "<dependencyManagement><dependencies>
<dependency><groupId>org.apache.pulsar</groupId><artifactId>pulsar</artifactId><version>$PULSAR_VERSION</version><type>pom</type><scope>import</scope></dependency>
</dependencies></dependencyManagement><dependencies>
<dependency><groupId>org.apache.pulsar</groupId><artifactId>pulsar-broker</artifactId><version>$PULSAR_VERSION</version></dependency>
</dependencies>"
}

configure() {
    certificates
    mkdir -p "$data"
    openssl pkcs8 -topk8 -nocrypt -in "$TLS_KEY" -out "$data/server.pk8"
    cat > "$data/log4j2.xml" <<'C'
<Configuration><Appenders><Console name="c"><PatternLayout pattern="%d{ABSOLUTE} %-5level %logger{1} %msg%n%throwable"/></Console></Appenders><Loggers><Root level="warn"><AppenderRef ref="c"/></Root></Loggers></Configuration>
C
    cat > "$data/standalone.conf" <<C
clusterName=standalone
bindAddress=127.0.0.1
advertisedAddress=127.0.0.1
brokerServicePort=$PULSAR_PORT
webServicePort=$((PULSAR_PORT + 1))
brokerServicePortTls=$((PULSAR_PORT + 3))
tlsCertificateFilePath=$TLS_CERT
tlsKeyFilePath=$data/server.pk8
tlsTrustCertsFilePath=$TLS_CA
zookeeperServers=
configurationStoreServers=
managedLedgerDefaultEnsembleSize=1
managedLedgerDefaultWriteQuorum=1
managedLedgerDefaultAckQuorum=1
numIOThreads=2
numHttpServerThreads=4
numCacheExecutorThreadPoolSize=2
numOrderedExecutorThreads=2
managedLedgerNumSchedulerThreads=2
managedLedgerCacheSizeMB=32
bookkeeperNumberOfChannelsPerBookie=2
bookkeeperClientNumWorkerThreads=2
defaultNumberOfNamespaceBundles=1
loadBalancerEnabled=false
failureDomainsEnabled=false
systemTopicEnabled=${PULSAR_SYSTEM_TOPICS:-true}
topicLevelPoliciesEnabled=${PULSAR_SYSTEM_TOPICS:-true}
transactionCoordinatorEnabled=false
enablePersistentTopics=true
webSocketServiceEnabled=false
functionsWorkerEnabled=false
brokerDeleteInactiveTopicsEnabled=false
allowAutoTopicCreation=true
diskUsageThreshold=0.99
diskUsageWarnThreshold=0.98
ledgerStorageClass=org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage
dbStorage_writeCacheMaxSizeMb=32
dbStorage_readAheadCacheMaxSizeMb=32
dbStorage_rocksDB_blockCacheSize=4194304
nettyMaxFrameSizeBytes=5253120
allowLoopback=true
C
}

# admin METHOD PATH: a call of the REST API; its answer is in $data/answer.
admin() { curl -sf --max-time 10 -X "$1" -o "$data/answer" "http://127.0.0.1:$((PULSAR_PORT + 1))/admin/v2/$2"; }

# True when a topic can be made: the API answers before the bookie has been found, without which nothing is stored.
ready() {
    local topic=persistent/public/default/ready-$BASHPID-$RANDOM
    admin GET namespaces/public && grep -q public/default "$data/answer" && admin PUT "$topic" && admin DELETE "$topic"
}

run() {
    launch pulsar java -Xms128m -Xmx"$PULSAR_HEAP" -XX:MaxDirectMemorySize="$PULSAR_DIRECT" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -Dlog4j.configurationFile="$data/log4j2.xml" -Dio.netty.tryReflectionSetAccessible=true -Dpulsar.allocator.pooled=false -Djava.net.preferIPv4Stack=true \
        --add-opens java.base/java.nio=ALL-UNNAMED --add-opens java.base/jdk.internal.misc=ALL-UNNAMED --add-opens java.base/java.util.zip=ALL-UNNAMED \
        --add-opens java.base/sun.net=ALL-UNNAMED --add-opens java.management/sun.management=ALL-UNNAMED --add-opens jdk.management/com.sun.management.internal=ALL-UNNAMED \
        -cp "$JARS/*" org.apache.pulsar.PulsarStandaloneStarter --config "$data/standalone.conf" \
        --no-functions-worker --no-stream-storage --metadata-dir "$data/metadata" --bookkeeper-dir "$data/bookies" --bookkeeper-port $((PULSAR_PORT + 2)) --advertised-address 127.0.0.1
    await "$1" pulsar ready
}

case ${1:-start} in
    install) install ;;
    start)
        install; free_port "$PULSAR_PORT" pulsar
        alive pulsar || configure
        cd "$data"
        # A broker that does not find its own bookie (seen once, after a crash) finds it when it is started again.
        (run 60) || { say "is started again"; halt pulsar KILL; free_port "$PULSAR_PORT" pulsar; run 120; }
        echo "pulsar://127.0.0.1:$PULSAR_PORT,http://127.0.0.1:$((PULSAR_PORT + 1))" ;;
    stop) halt pulsar ;;
    kill) halt pulsar KILL ;;
    wipe) halt pulsar KILL; rm -rf "$data" ;;
    *) die 'usage: install | start | stop | kill | wipe' ;;
esac

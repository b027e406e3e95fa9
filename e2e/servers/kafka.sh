#!/usr/bin/env bash
# A real Apache Kafka broker (KRaft, one node; loopback only, unless $KAFKA_ALSO names an address).
#   kafka.sh install | start | stop | wipe | kill | tool CLASS ARGS...
# Prints the address that tests read as RANKWRIGHT_TEST_KAFKA. Data and logs of a run lie in the folder $SERVERS_RUN.
# Who comes in by SCRAM as "guest", with the same password, may do nothing.
# Listeners: $KAFKA_PORT plain, +1 SASL_SSL with SCRAM, +2 SASL_PLAINTEXT with SCRAM, +3 the controller's own.
# KAFKA_ALSO="HOST:PORT NAME:PORT" adds a plain one at an address of this machine, whose clients are told the name.
. "$(dirname "$0")/lib.sh"
KAFKA_VERSION=${KAFKA_VERSION:-4.3.1}
KAFKA_PORT=${KAFKA_PORT:-19092}
KAFKA_HEAP=${KAFKA_HEAP:-384m}
KAFKA_ALSO=${KAFKA_ALSO:-}
KAFKA_USER=${KAFKA_USER:-test} KAFKA_PASSWORD=${KAFKA_PASSWORD:-secret}
data=$SERVERS_RUN/kafka

install() {
    command -v java > /dev/null || packages openjdk-17-jre-headless
    jars kafka "<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$KAFKA_VERSION</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>$KAFKA_VERSION</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version></dependency>
</dependencies>"
}
jvm() { java -cp "$JARS/*" "$@"; }

configure() {
    certificates
    mkdir -p "$data"
    cat "$TLS_KEY" "$TLS_CERT" > "$data/server.pem"
    local here=PLAIN://127.0.0.1:$KAFKA_PORT,TLS://127.0.0.1:$((KAFKA_PORT + 1)),SCRAM://127.0.0.1:$((KAFKA_PORT + 2))
    cat > "$data/server.properties" <<C
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((KAFKA_PORT + 3))
listeners=$here,CONTROLLER://127.0.0.1:$((KAFKA_PORT + 3))${KAFKA_ALSO:+,ALSO://${KAFKA_ALSO% *}}
advertised.listeners=$here${KAFKA_ALSO:+,ALSO://${KAFKA_ALSO#* }}
listener.security.protocol.map=ALSO:PLAINTEXT,PLAIN:PLAINTEXT,TLS:SASL_SSL,SCRAM:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:$KAFKA_USER
inter.broker.listener.name=PLAIN
sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512
listener.name.tls.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.tls.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.scram.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.scram.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PEM
ssl.keystore.location=$data/server.pem
ssl.truststore.type=PEM
ssl.truststore.location=$TLS_CA
log.dirs=$data/logs
num.partitions=2
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=2
background.threads=2
log.cleaner.dedupe.buffer.size=2097152
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.consumer.min.session.timeout.ms=1000
group.min.session.timeout.ms=1000
log.retention.check.interval.ms=5000
C
    [ -f "$data/logs/meta.properties" ] || jvm kafka.tools.StorageTool format -c "$data/server.properties" -t "$(printf 'rankwright-tests' | base64 | tr '+/' '-_' | cut -c1-22)" \
        --add-scram "SCRAM-SHA-256=[name=$KAFKA_USER,password=$KAFKA_PASSWORD]" \
        --add-scram "SCRAM-SHA-512=[name=$KAFKA_USER,password=$KAFKA_PASSWORD]" \
        --add-scram "SCRAM-SHA-512=[name=guest,password=$KAFKA_PASSWORD]" > "$data/format.log" 2>&1 || { cat "$data/format.log" >&2; die 'format failed'; }
}

case ${1:-start} in
    install) install ;;
    start)
        install; free_port "$KAFKA_PORT" kafka
        alive kafka || configure
        launch kafka java -Xms64m -Xmx"$KAFKA_HEAP" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -Djava.net.preferIPv4Stack=true -cp "$JARS/*" kafka.Kafka "$data/server.properties"
        await 60 kafka port "$KAFKA_PORT"
        echo "127.0.0.1:$KAFKA_PORT" ;;
    stop) halt kafka ;;
    kill) halt kafka KILL ;;
    wipe) halt kafka KILL; rm -rf "$data" ;;
    tool) shift; install; jvm -XX:TieredStopAtLevel=1 "$@" ;;
    *) die 'usage: install | start | stop | kill | wipe | tool CLASS ARGS...' ;;
esac

//! Options of the Java client that have no effect here, or that are not supported.

/// What has no use, and why.
const UNUSED: [(&str, &[&str]); 15] = [
    (
        "a commit of the state acknowledges",
        &[
            "ackReceiptEnabled",
            "ackTimeoutMillis",
            "ackTimeoutRedeliveryBackoff",
            "acknowledgementsGroupTimeMicros",
            "batchIndexAckEnabled",
            "maxAcknowledgmentGroupSize",
            "negativeAckRedeliveryBackoff",
            "negativeAckRedeliveryDelayMicros",
            "tickDurationMillis",
        ],
    ),
    (
        "source.topic names the topic",
        &["patternAutoDiscoveryPeriod", "regexSubscriptionMode", "topicNames", "topicsPattern"],
    ),
    ("new partitions are found by themselves", &["autoUpdatePartitions", "autoUpdatePartitionsIntervalSeconds"]),
    (
        "source.offset says where to begin",
        &["resetIncludeHead", "startMessageIdInclusive", "subscriptionInitialPosition"],
    ),
    (
        "the subscription is a durable one, with a name and a type of its own",
        &[
            "keySharedPolicy",
            "replicateSubscriptionState",
            "subscriptionMode",
            "subscriptionName",
            "subscriptionProperties",
            "subscriptionType",
        ],
    ),
    ("source.deadLetter says where messages go that are no events", &["deadLetterPolicy", "retryEnable"]),
    (
        "encrypted messages and ones cut into chunks are left out",
        &[
            "autoAckOldestChunkedMessageOnQueueFull",
            "cryptoFailureAction",
            "cryptoKeyReader",
            "messageCrypto",
            "expireTimeOfIncompleteChunkedMessageMillis",
            "maxPendingChunkedMessage",
        ],
    ),
    (
        "receiverQueueSize of each partition bounds what is fetched ahead",
        &["autoScaledReceiverQueueSizeEnabled", "maxTotalReceiverQueueSizeAcrossPartitions", "memoryLimitBytes"],
    ),
    ("source.serviceUrl says it (pulsar+ssl://)", &["serviceUrl", "useTls"]),
    ("names of hosts are verified, unless tlsAllowInsecureConnection is true", &["tlsHostnameVerificationEnable"]),
    ("state.pipeline says how large batches are", &["batchReceivePolicy"]),
    ("no classes of Java are loaded", &["consumerEventListener", "messagePayloadProcessor"]),
    (
        "brokers are reached at the address that they give",
        &[
            "dnsLookupBindAddress",
            "dnsLookupBindPort",
            "listenerName",
            "proxyProtocol",
            "proxyServiceUrl",
            "socks5ProxyAddress",
            "socks5ProxyPassword",
            "socks5ProxyUsername",
        ],
    ),
    ("all messages are read, each once", &["poolMessages", "properties", "readCompacted", "startPaused"]),
    (
        "connections have settings of their own",
        &[
            "autoCertRefreshSeconds",
            "concurrentLookupRequest",
            "connectionMaxIdleSeconds",
            "connectionTimeoutMs",
            "connectionsPerBroker",
            "defaultBackoffIntervalNanos",
            "enableBusyWait",
            "enableTransaction",
            "initialBackoffIntervalNanos",
            "keepAliveIntervalSeconds",
            "lookupTimeoutMs",
            "maxBackoffIntervalNanos",
            "maxLookupRedirects",
            "maxLookupRequest",
            "maxNumberOfRejectedRequestPerConnection",
            "numIoThreads",
            "numListenerThreads",
            "operationTimeoutMs",
            "readTimeoutMs",
            "requestTimeoutMs",
            "sslProvider",
            "statsIntervalSeconds",
            "tlsCiphers",
            "tlsProtocols",
            "useTcpNoDelay",
        ],
    ),
];

/// Why an option has no effect here, if it has none.
pub(super) fn unused(key: &str) -> Option<&'static str> {
    UNUSED.iter().find(|(_, keys)| keys.contains(&key)).map(|(reason, _)| *reason)
}

/// Why an option of the Java client is not supported.
pub(super) fn refused(key: &str) -> Option<String> {
    let reason = match key {
        "tlsTrustStorePath" | "tlsTrustStorePassword" | "tlsTrustStoreType" | "useKeyStoreTls" => {
            "a Java key store cannot be read here: make PEM of it with `keytool -list -rfc -keystore FILE > ca.pem`, and \
             set tlsTrustCertsFilePath to that file"
        }
        "tlsKeyFilePath" | "tlsCertificateFilePath" | "tlsKeyStorePath" | "tlsKeyStorePassword" | "tlsKeyStoreType" => {
            "a client cannot show a certificate here: only tokens are supported, as authParams"
        }
        _ => return None,
    };
    Some(reason.to_owned())
}

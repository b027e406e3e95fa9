#!/usr/bin/env bash
# A broker of Kafka beside the cluster that `up.sh node` has started; down.sh ends it: kafka.sh
#
# Pods reach it as kafka-kafka-bootstrap.kafka:9092, the address of manifests/samples/04-kafka.yaml. What runs by in.sh reaches
# it at the address that is printed, which tests read as RANKWRIGHT_TEST_NODE_KAFKA.
set -euo pipefail
. "$(dirname "$0")/env.sh"
name=kafka-kafka-bootstrap
export SERVERS_RUN=$BESIDE KAFKA_PORT=19092 KAFKA_ALSO="$NODE_IP:9092 $name.kafka:9092"

"$here/../servers/kafka.sh" install >&2 # out here: there is no way to the registries in there
"$here/in.sh" kubectl apply -f - >&2 <<Y
apiVersion: v1
kind: Namespace
metadata: {name: kafka}
---
apiVersion: v1
kind: Service
metadata: {name: $name, namespace: kafka}
spec:
  ports: [{port: 9092}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: $name-node, namespace: kafka, labels: {kubernetes.io/service-name: $name}}
addressType: IPv4
ports: [{port: 9092}]
endpoints: [{addresses: [$NODE_IP]}]
Y
exec "$here/in.sh" "$here/../servers/kafka.sh" start

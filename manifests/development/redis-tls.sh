#!/usr/bin/env bash
# A Redis with TLS and a password, for trying out samples/05-tls-and-secrets.yaml: redis-tls.rankwright-development:6379, password
# "development". Makes a certificate authority and a certificate for a year, anew each time, brings the certificate to the
# server and the authority to the sample. Needs openssl, and kubectl with a cluster.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=redis-tls.rankwright-development
cd "$work"
for key in ca tls; do openssl ecparam -name prime256v1 -genkey -noout -out $key.key; done
openssl req -x509 -new -sha256 -days 365 -key ca.key -out ca.crt -subj "/CN=Rankwright development" \
  -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
printf 'subjectAltName=DNS:redis-tls,DNS:%s,DNS:%s.svc,DNS:%s.svc.cluster.local,DNS:localhost\nextendedKeyUsage=serverAuth\n' $name $name $name >tls.ext
openssl req -new -key tls.key -out tls.csr -subj "/CN=$name"
openssl x509 -req -sha256 -days 365 -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -extfile tls.ext -out tls.crt 2>/dev/null

# made KIND NAME…: creates or changes an object.
made() { kubectl create "$@" --dry-run=client --output yaml | kubectl apply --filename -; }
made namespace rankwright-development
made namespace sample-tls
made --namespace sample-tls configmap redis-ca --from-file=ca.crt
made --namespace rankwright-development secret tls redis-tls --cert=tls.crt --key=tls.key
kubectl apply --filename - <<Y
apiVersion: v1
kind: Service
metadata:
  name: redis-tls
  namespace: rankwright-development
spec:
  selector: {app.kubernetes.io/name: redis-tls}
  ports:
  - {name: redis, port: 6379, targetPort: redis}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: redis-tls
  namespace: rankwright-development
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector:
    matchLabels: {app.kubernetes.io/name: redis-tls}
  template:
    metadata:
      labels: {app.kubernetes.io/name: redis-tls}
      annotations:
        # another certificate makes another pod
        rankwright.dev/certificate: $(sha256sum tls.crt | cut -c1-16)
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: 999
        runAsGroup: 999
        fsGroup: 999
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: redis
        image: docker.io/library/redis:7.2
        args:
        - redis-server
        - --port
        - "0"
        - --tls-port
        - "6379"
        - --tls-cert-file
        - /tls/tls.crt
        - --tls-key-file
        - /tls/tls.key
        - --tls-auth-clients
        - "no"
        - --requirepass
        - development
        - --save
        - ""
        - --maxmemory
        - 512mb
        - --maxmemory-policy
        - noeviction
        ports:
        - {name: redis, containerPort: 6379}
        readinessProbe:
          tcpSocket: {port: redis}
          periodSeconds: 2
        resources:
          requests: {cpu: 50m, memory: 64Mi}
          limits: {memory: 640Mi}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tls, mountPath: /tls, readOnly: true}
      volumes:
      - {name: data, emptyDir: {}}
      - {name: tls, secret: {secretName: redis-tls, defaultMode: 0440}}
Y

# syntax=docker/dockerfile:1
# The image of Rankwright: all programs and the operator, or those that are named.
#
#   docker build -t rankwright:0.1.0 .
#   docker build -t rankwright-operator:0.1.0 --build-arg PROGRAMS=rankwright-operator .
#   docker buildx build --platform linux/arm64 -t rankwright:0.1.0 .    (amd64 is what is tested)
#
# It has the programs, the libraries that they are linked with, ONNX Runtime where a program opens it, and the certificates of
# public authorities; no shell and no packages. It runs as user 65532 and writes to /tmp alone. Needs BuildKit, and about 8 GiB of
# memory with two jobs.

# What is built: the programs by name, separated by spaces. The first one is run where no command is given.
ARG PROGRAMS="rankwright rank-server ingest-worker training-job rankwright-operator"
# The version of the toolchain is the one of rust-version in Cargo.toml. A digest (@sha256:...) makes a build repeatable.
ARG RUST_IMAGE=docker.io/library/rust:1.95-bookworm

FROM ${RUST_IMAGE} AS build
ARG PROGRAMS
ARG TARGETARCH
WORKDIR /source
COPY . .
# ./run knows what a build needs: packages, and the libraries of XGBoost and LightGBM. These, ONNX Runtime, crates and what cargo
# has made are kept between builds, apart for each architecture.
RUN --mount=type=cache,id=cargo-${TARGETARCH},target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,id=rankwright-${TARGETARCH},target=/cache,sharing=locked \
    RANKWRIGHT_CACHE=/cache bash -euc 'settings=$(./run env); eval "$settings"; \
      mkdir /programs; cp -r "$RANKWRIGHT_BOOSTERS_DIR" /lib/boosters; native=services/engine/encoder/native; \
      encoders=/cache/native/onnxruntime-$(sha256sum <$native/onnxruntime.txt | cut -c1-12); \
      $native/fetch.sh "$encoders" --runtime; cp -r "$encoders/onnxruntime" /onnxruntime-of-image; \
      cargo build --release --locked $(printf -- "--bin %s " $PROGRAMS); \
      for program in $PROGRAMS; do cp "$CARGO_TARGET_DIR/release/$program" /programs/; done'

# The root of the image: without debug information (names of functions stay, for stack traces), with one date for all files.
RUN mkdir -p /root-of-image/usr/local/bin /root-of-image/etc/ssl/certs /root-of-image/tmp && cd /root-of-image && \
    for program in ${PROGRAMS}; do \
      strip --strip-debug -o "usr/local/bin/$program" "/programs/$program" && \
      ! ldd "/programs/$program" | grep 'not found' && \
      for library in $(ldd "/programs/$program" | grep -o '/[^ ]*\.so[^ ]*'); do \
        case $library in */boosters*/*) to=usr/local/lib/boosters/${library#*/boosters*/} ;; *) to=.$library ;; esac; \
        install -D "$(readlink -f "$library")" "$to" || exit 1; \
      done || exit 1; \
    done && \
    case " ${PROGRAMS} " in *" rankwright "*|*" rank-server "*|*" ingest-worker "*|*" training-job "*) \
      mkdir -p usr/local/lib && cp -r /onnxruntime-of-image usr/local/lib/onnxruntime && \
      ! ldd usr/local/lib/onnxruntime/libonnxruntime.so.* | grep 'not found' && \
      for library in $(ldd usr/local/lib/onnxruntime/libonnxruntime.so.* | grep -o '/[^ ]*\.so[^ ]*'); do \
        install -D "$(readlink -f "$library")" ".$library" || exit 1; \
      done ;; \
    esac && \
    ln -s "/usr/local/bin/${PROGRAMS%% *}" entrypoint && \
    cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/ && \
    printf 'root:x:0:0::/:/none\nnonroot:x:65532:65532::/:/none\n' >etc/passwd && \
    printf 'hosts: files dns\n' >etc/nsswitch.conf && \
    chmod 1777 tmp && find . -exec touch --no-dereference --date=@0 {} +

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Rankwright" \
      org.opencontainers.image.description="Reranks search results and recommendations from visitor behaviour" \
      org.opencontainers.image.source="https://github.com/rankwright/rankwright" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /root-of-image/ /
ENV PATH=/usr/local/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt RANKWRIGHT_ENCODERS_CACHE=/tmp/encoders
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/entrypoint"]

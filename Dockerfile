# kidoban as one static binary, with nothing else in the image: no shell, no libc, no package to patch.
#
#   docker build -t kidoban --build-arg KIDOBAN_COMMIT="$(git rev-parse --short HEAD)" .
#   docker run --rm -p 127.0.0.1:8787:8787 kidoban
#
# plays the built-in game on http://127.0.0.1:8787/. An engine of your own needs what it was built for (its
# interpreter, its libraries), so put kidoban into the engine's image rather than the engine into this one:
#
#   FROM python:3.13-slim
#   COPY --from=kidoban /kidoban /kidoban
#   COPY engine.py /
#   USER 65532:65532
#   ENV KIDOBAN_LISTEN=0.0.0.0:8787
#   HEALTHCHECK CMD ["/kidoban", "health"]
#   ENTRYPOINT ["/kidoban"]
#   CMD ["serve", "--", "python3", "-u", "/engine.py"]
#
# Between containers the proxy's address is not a loopback one, so its X-Forwarded-For is not believed and all players
# share one bucket, until KIDOBAN_TRUSTED_PROXY names the network that it asks from (the compose network's subnet, or
# better the proxy's own address) and nothing else.

FROM rust:1.95-bookworm AS build
WORKDIR /src

# The dependencies alone, behind empty sources: this layer is made again only when the lock file or the build script
# changes.
COPY Cargo.toml Cargo.lock ./
COPY src/build.rs src/build.rs
RUN mkdir -p tests/it tests/stub benches \
 && touch src/lib.rs \
 && for source in src/main.rs tests/it/main.rs tests/stub/engine.rs benches/simulate.rs; do echo 'fn main() {}' > "$source"; done
# A target that is named, if only the machine's own, keeps RUSTFLAGS away from build scripts and procedural macros,
# which cannot be linked statically.
ENV RUSTFLAGS="-C target-feature=+crt-static"
RUN cargo build --release --locked --bin kidoban --target "$(uname -m)-unknown-linux-gnu"

COPY src src
# What `kidoban --version` says; the repository itself is not copied.
ARG KIDOBAN_COMMIT=unknown
ARG KIDOBAN_COMMIT_DATE=unknown
# Cargo goes by the time of change, and the sources may be older than the empty ones that they replace.
RUN find src -type f -exec touch {} + \
 && cargo build --release --locked --bin kidoban --target "$(uname -m)-unknown-linux-gnu" \
 && cp "target/$(uname -m)-unknown-linux-gnu/release/kidoban" /kidoban

FROM scratch
COPY --from=build /kidoban /kidoban
COPY LICENSE /LICENSE
# By number: there are no names here, and an orchestrator that insists on no root could not look one up.
USER 65532:65532
# Every address of the container; which of them the world sees is decided where its port is published.
ENV KIDOBAN_LISTEN=0.0.0.0:8787
EXPOSE 8787
HEALTHCHECK --interval=10s --timeout=6s --start-period=5s CMD ["/kidoban", "health"]
# As process 1 it reaps what engines leave behind; no init is needed.
ENTRYPOINT ["/kidoban"]
CMD ["demo"]

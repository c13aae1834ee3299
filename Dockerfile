# kidoban as one static binary, with nothing else in the image: no shell, no libc, no package to patch.
#
#   docker build -t kidoban .
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

# The dependencies alone, behind empty sources: this layer is made again only when the lock file changes.
COPY Cargo.toml Cargo.lock ./
RUN mkdir -p src tests/it tests/stub \
 && echo 'fn main() {}' | tee src/main.rs src/build.rs tests/it/main.rs > tests/stub/engine.rs \
 && touch src/lib.rs
# A target that is named, if only the machine's own, keeps RUSTFLAGS away from build scripts and procedural macros,
# which cannot be linked statically.
ENV RUSTFLAGS="-C target-feature=+crt-static"
RUN cargo build --release --locked --bin kidoban --target "$(uname -m)-unknown-linux-gnu"

# There is no repository in here to ask: --build-arg KIDOBAN_COMMIT=$(git rev-parse --short HEAD), and the date alike.
ARG KIDOBAN_COMMIT KIDOBAN_COMMIT_DATE
COPY src src
# Cargo goes by the time of change, and the sources may be older than the empty ones that they replace.
RUN find src -type f -exec touch {} + \
 && cargo build --release --locked --bin kidoban --target "$(uname -m)-unknown-linux-gnu" \
 && cp "target/$(uname -m)-unknown-linux-gnu/release/kidoban" /kidoban

FROM gcr.io/distroless/static-debian12
COPY --from=build /kidoban /kidoban
COPY LICENSE /LICENSE
# By number: an orchestrator that insists on no root cannot look up a name.
USER 65532:65532
# Every address of the container; which of them the world sees is decided where its port is published.
ENV KIDOBAN_LISTEN=0.0.0.0:8787
EXPOSE 8787
HEALTHCHECK CMD ["/kidoban", "health"]
ENTRYPOINT ["/kidoban"]
CMD ["demo"]

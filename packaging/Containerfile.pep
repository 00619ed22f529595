# One end of farlink's performance enhancing proxy in a container.
#
#   cargo build --release -p farlink
#   podman build -f packaging/Containerfile.pep -t farlink-pep .
#   podman run --rm -p 9400:9400 -v ./pep:/etc/farlink:ro farlink-pep remote --config /etc/farlink/pep-remote.toml
#   podman run --rm --network host -v ./pep:/etc/farlink:ro farlink-pep local --config /etc/farlink/pep-local.toml
#
# /etc/farlink holds the configuration and the key, readable by user 65534.
FROM debian:bookworm-slim
COPY target/release/farlink /usr/bin/farlink
USER 65534:65534
EXPOSE 9400 9401 9402
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/farlink", "pep"]

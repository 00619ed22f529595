// Which proxy a browser asks for a URL: farlink load ... --route proxy,pac=examples/by-host.pac (docs/routes.md).
var turn = 0;

function FindProxyForURL(url, host) {
  // What is near is asked for straight on.
  if (isPlainHostName(host) || isInNet(host, "192.168.0.0", "255.255.0.0")) return "DIRECT";
  // Images go to four ports of the proxy in turn. Of https URLs a browser shows the host alone.
  if (shExpMatch(url, "*.png") || shExpMatch(url, "*.jpg")) {
    return "PROXY proxy.example:" + (8080 + turn++ % 4);
  }
  return "PROXY proxy.example:3128; DIRECT";
}

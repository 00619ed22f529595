// The functions of farlink's PAC files; the settings go before them.
function isBelow(host, patterns) {
  for (var i = 0; i < patterns.length; i++) {
    var pattern = patterns[i];
    if (host === pattern) return true;
    if (pattern.charAt(0) === ".") {
      if (host === pattern.substring(1)) return true;
      var at = host.length - pattern.length;
      if (at >= 0 && host.indexOf(pattern, at) === at) return true;
    }
  }
  return false;
}

function extension(url) {
  var path = url.split("?")[0].split("#")[0];
  var name = path.substring(path.lastIndexOf("/") + 1);
  var dot = name.lastIndexOf(".");
  return dot < 0 ? "" : name.substring(dot + 1).toLowerCase();
}

var turns = [];

function choose(proxies, rule, url) {
  var index;
  if (byUrl) {
    var hash = 0;
    for (var i = 0; i < url.length; i++) hash = (hash * 31 + url.charCodeAt(i)) % 2147483647;
    index = hash % proxies.length;
  } else {
    index = turns[rule] || 0;
    turns[rule] = (index + 1) % proxies.length;
  }
  var chosen = proxies[index];
  // The others answer for one that does not.
  for (var j = 1; j < Math.min(proxies.length, 3); j++) chosen += "; " + proxies[(index + j) % proxies.length];
  return fallback ? chosen + "; DIRECT" : chosen;
}

function FindProxyForURL(url, host) {
  host = host.toLowerCase();
  if (directPlainNames && host.indexOf(".") < 0 && host.indexOf(":") < 0) return "DIRECT";
  if (isBelow(host, directHosts)) return "DIRECT";
  for (var i = 0; i < rules.length; i++) {
    var rule = rules[i];
    if (rule.hosts.length && !isBelow(host, rule.hosts)) continue;
    if (rule.types.length && rule.types.indexOf(extension(url)) < 0) continue;
    return choose(rule.proxies, i, url);
  }
  return "DIRECT";
}

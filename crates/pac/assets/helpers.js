// What browsers give a PAC file, and what virtual time takes from it. It is called once, before the file runs.
(function (resolve, own, random, now) {
  "use strict";
  const give = (functions) => Object.assign(globalThis, functions);

  const look = (host) => resolve(String(host)) ?? null;

  function number(address) {
    const bytes = String(address).split(".");
    return bytes.reduce((sum, byte) => (sum << 8) | (byte & 255), 0);
  }

  function isIPv4(text) {
    const parts = text.split(".");
    return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && part < 256);
  }

  // `*` is any text, `?` any character; where one star fails the last one takes one character more.
  function matches(text, pattern) {
    let at = 0, here = 0, star = -1, from = 0;
    while (at < text.length) {
      if (pattern[here] === "*") {
        star = here++;
        from = at;
      } else if (here < pattern.length && (pattern[here] === "?" || pattern[here] === text[at])) {
        here++;
        at++;
      } else if (star >= 0) {
        here = star + 1;
        at = ++from;
      } else {
        return false;
      }
    }
    while (pattern[here] === "*") here++;
    return here === pattern.length;
  }

  give({
    isPlainHostName: (host) => !/[.:]/.test(host),
    dnsDomainIs: (host, domain) => String(host).endsWith(domain),
    localHostOrDomainIs: (host, name) => host === name || String(name).startsWith(host + "."),
    isResolvable: (host) => look(host) !== null,
    dnsResolve: look,
    myIpAddress: () => own,
    dnsDomainLevels: (host) => String(host).split(".").length - 1,
    shExpMatch: (text, pattern) => matches(String(text), String(pattern)),
    convert_addr: number,
    isInNet: (host, net, mask) => {
      const address = isIPv4(String(host)) ? String(host) : look(host);
      if (address === null || !isIPv4(address)) return false;
      return (number(address) & number(mask)) === (number(net) & number(mask));
    },
    // Browsers write it into a log.
    alert: () => undefined,
  });

  for (const name of ["weekdayRange", "dateRange", "timeRange"]) {
    globalThis[name] = () => {
      throw new Error("`" + name + "` asks for the calendar, which virtual time has not: leave it out");
    };
  }

  Math.random = random;

  // A date that stands still, in a place whose time is UTC.
  const Calendar = Date;
  const read = (parts) => {
    if (parts.length === 0) return now;
    if (parts.length > 1) return Calendar.UTC(...parts);
    if (typeof parts[0] !== "string") return Number(parts[0]);
    throw new Error("a date as text hangs on the place's clock: write it as numbers");
  };
  function Still(...parts) {
    const date = new Calendar(new.target ? read(parts) : now);
    return new.target ? date : date.toUTCString();
  }
  Still.prototype = Calendar.prototype;
  Still.prototype.constructor = Still;
  Still.now = () => now;
  Still.UTC = Calendar.UTC;
  Still.parse = (text) => read([String(text)]);
  for (const part of ["FullYear", "Month", "Date", "Day", "Hours", "Minutes", "Seconds", "Milliseconds"]) {
    for (const verb of ["get", "set"]) {
      const utc = Calendar.prototype[verb + "UTC" + part];
      if (utc) Calendar.prototype[verb + part] = utc;
    }
  }
  Calendar.prototype.getYear = function () {
    return this.getUTCFullYear() - 1900;
  };
  Calendar.prototype.getTimezoneOffset = () => 0;
  delete Calendar.prototype.setYear;
  for (const name of ["toString", "toDateString", "toTimeString", "toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    Calendar.prototype[name] = Calendar.prototype.toUTCString;
  }
  globalThis.Date = Still;
})

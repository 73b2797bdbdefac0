/** A query as Go reads it: parts with a semicolon are left out. kubelet: Go's net/url ParseQuery */
export function goQuery(search: string): URLSearchParams {
  const parts = search.replace(/^\?/, '').split('&');
  return new URLSearchParams(parts.filter((part) => !part.includes(';') && !hasBadEscape(part)).join('&'));
}

const hasBadEscape = (part: string): boolean => /%(?![0-9a-f]{2})/i.test(part);

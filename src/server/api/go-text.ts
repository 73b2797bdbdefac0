/** A query as Go reads it: without parts that contain a semicolon. kubelet: Go's net/url ParseQuery */
export function goQuery(search: string): URLSearchParams {
  const parts = search.replace(/^\?/, '').split('&');
  return new URLSearchParams(parts.filter((part) => !part.includes(';') && !hasBadEscape(part)).join('&'));
}

const hasBadEscape = (part: string): boolean => /%(?![0-9a-f]{2})/i.test(part);

/** A path as sent if Go would keep it, otherwise escaped again. kubelet: Go's net/url URL.EscapedPath */
export const goEscapedPath = (path: string): string =>
  /^[\w\-.~$&+,/:;=@!'()*[\]%]*$/.test(path) ? path : escapedPath(goUnescaped(path));

/** Bytes that are not UTF-8 become U+FFFD. Escapes are well-formed. kubelet: Go's net/url PathUnescape */
export function goUnescaped(text: string): string {
  const bytes = text.replaceAll(/%([0-9a-f]{2})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString();
}

/** kubelet: Go's net/url URL.String */
export function escapedPath(path: string): string {
  if (path === '*') return path;
  const escaped = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURI(path).replace(/[?#[\]!'()*]/g, escaped);
}

import { isIPv6 } from 'node:net';

/** The parts of a URL that a request needs, as Go's net/url splits them. */
export interface GoURL {
  scheme: string;
  /** For `mailto:x` and the like: replaces everything but scheme, query and fragment. */
  opaque: string;
  /** Unchanged, without the `@`. */
  userinfo: string;
  /** `name:port`, without escapes. */
  host: string;
  /** Unchanged if it is a valid encoding of the path. */
  escapedPath: string;
  /** Begins with `?`. Empty if there is no query. */
  query: string;
  escapedFragment: string;
}

/**
 * Parses a reference like Go's `url.Parse`, which differs from Node's URL in many cases. Returns undefined if Go
 * returns an error.
 */
export function parseGoURL(text: string): GoURL | undefined {
  const [reference = '', ...fragments] = text.split('#');
  const fragment = fragments.join('#');
  if (hasControlCharacter(reference)) return undefined;
  const { scheme, rest: schemeless } = splitScheme(reference);
  if (scheme === undefined) return undefined;
  const question = schemeless.indexOf('?');
  const query = question === -1 ? '' : schemeless.slice(question);
  const rest = question === -1 ? schemeless : schemeless.slice(0, question);
  const url = { scheme, opaque: '', userinfo: '', host: '', query };
  const escapedFragment = escaped(fragment, 'fragment');
  if (escapedFragment === undefined) return undefined;
  if (!rest.startsWith('/') && scheme !== '') return { ...url, opaque: rest, escapedPath: '', escapedFragment };
  // It looks like a scheme but is invalid.
  if (!rest.startsWith('/') && rest.split('/', 1)[0]?.includes(':') === true) return undefined;
  const { authority, path } = splitAuthority(rest, scheme);
  const { userinfo, host } = splitUserinfo(authority);
  const escapedPath = escaped(path, 'path');
  if (escapedPath === undefined || !isHost(host)) return undefined;
  return { ...url, userinfo, host: unescape(host).toString(), escapedPath, escapedFragment };
}

/** Returns a URL for a path that cannot be parsed as one, using the path literally. */
export function pathURL(path: string): GoURL {
  return {
    scheme: '',
    opaque: '',
    userinfo: '',
    host: '',
    query: '',
    escapedFragment: '',
    escapedPath: escape(Buffer.from(path), 'path'),
  };
}

/** Returns the URL as Go formats it. */
export function formatGoURL({ scheme, opaque, userinfo, host, escapedPath, query, escapedFragment }: GoURL): string {
  const prefix = scheme === '' ? '' : `${scheme}:`;
  const user = userinfo === '' ? '' : `${userinfo}@`;
  const hasAuthority = host !== '' || userinfo !== '';
  const slash = host !== '' && escapedPath !== '' && !escapedPath.startsWith('/') ? '/' : '';
  const path = `${hasAuthority ? `//${user}${escape(Buffer.from(host), 'host')}` : ''}${slash}${escapedPath}`;
  return `${prefix}${opaque === '' ? path : opaque}${query}${escapedFragment === '' ? '' : `#${escapedFragment}`}`;
}

type Part = 'path' | 'fragment' | 'host';

// eslint-disable-next-line no-control-regex -- the pattern searches for control characters
const hasControlCharacter = (text: string): boolean => /[\0-\x1f\x7f]/.test(text);

/** `scheme` is undefined if a colon has no scheme before it. */
function splitScheme(reference: string): { scheme: string | undefined; rest: string } {
  if (reference.startsWith(':')) return { scheme: undefined, rest: '' };
  const [all, scheme] = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(reference) ?? [];
  if (all === undefined || scheme === undefined) return { scheme: '', rest: reference };
  return { scheme: scheme.toLowerCase(), rest: reference.slice(all.length) };
}

function splitAuthority(rest: string, scheme: string): { authority: string; path: string } {
  if (!rest.startsWith('//') || (scheme === '' && rest.startsWith('///'))) return { authority: '', path: rest };
  const end = rest.indexOf('/', 2);
  return end === -1 ? { authority: rest.slice(2), path: '' } : { authority: rest.slice(2, end), path: rest.slice(end) };
}

function splitUserinfo(authority: string): { userinfo: string; host: string } {
  const at = authority.lastIndexOf('@');
  return { userinfo: authority.slice(0, Math.max(0, at)), host: authority.slice(at + 1) };
}

/** True if it is a name or address, with or without a port. The port's range is not checked. */
function isHost(host: string): boolean {
  const [, bracketed, after = ''] = /^\[(.*)\](.*)$/.exec(host) ?? [];
  if (bracketed !== undefined) {
    const [address = ''] = bracketed.split('%25', 1);
    const zone = bracketed.slice(address.length);
    return isIPv6(address) && (zone === '' || isZone(zone)) && /^(:\d*)?$/.test(after);
  }
  const colon = host.lastIndexOf(':');
  if (colon !== -1 && !/^:\d*$/.test(host.slice(colon))) return false;
  // Go allows escapes here only for bytes beyond ASCII.
  return /^(?:[\w\-.~!$&'()*+,;=:<>"]|[^\0-\x7f]|%[89a-fA-F][\da-fA-F]|%25)*$/.test(host);
}

/** True if it is the zone of an address, which begins with an escaped `%`. Go: net/url unescape encodeZone */
function isZone(text: string): boolean {
  if (/%(?![\da-fA-F]{2})/.test(text)) return false;
  return /^%[ %\w\-.~!$&'()*+,;=:[\]<>"]+$/.test(unescape(text).toString());
}

/** Returns the part unchanged if it is a valid encoding, else escaped. Returns undefined if it has a broken escape. */
function escaped(text: string, part: Part): string | undefined {
  if (/%(?![\da-fA-F]{2})/.test(text)) return undefined;
  const isValid = Buffer.from(text).every((byte) => {
    const character = String.fromCharCode(byte);
    return "!$&'()*+,;=:@[]%".includes(character) || !mustEscape(character, part);
  });
  return isValid ? text : escape(unescape(text), part);
}

function unescape(text: string): Buffer {
  const pieces = text.split(/(%[\da-fA-F]{2})/);
  return Buffer.concat(
    pieces.map((piece, index) => (index % 2 === 0 ? Buffer.from(piece) : Buffer.from(piece.slice(1), 'hex'))),
  );
}

function escape(bytes: Buffer, part: Part): string {
  return Array.from(bytes, (byte) => {
    const character = byte < 0x80 ? String.fromCharCode(byte) : '';
    const kept = character !== '' && !mustEscape(character, part);
    return kept ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}

/** Go: net/url shouldEscape */
function mustEscape(character: string, part: Part): boolean {
  if (/^[A-Za-z0-9\-_.~]$/.test(character)) return false;
  switch (part) {
    case 'path':
      return !'$&+,/:;=@'.includes(character);
    case 'fragment':
      return !'$&+,/:;=?@!()*'.includes(character);
    case 'host':
      return !'!$&\'()*+,;=:[]<>"'.includes(character);
  }
}

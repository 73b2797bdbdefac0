import { isIPv6 } from 'node:net';

/** The parts of a URL as Go's net/url has them, as far as a request has them. */
export interface GoURL {
  scheme: string;
  /** Set in place of everything but scheme, query and fragment for `mailto:x` and its like. */
  opaque: string;
  /** As it is written, without the `@`. */
  userinfo: string;
  /** `name:port` */
  host: string;
  /** As it is written, if that is one of the ways to write this path. */
  escapedPath: string;
  /** From the `?` on; empty: none. */
  query: string;
  escapedFragment: string;
}

/**
 * Reads a reference as Go's `url.Parse` does; undefined where that returns an error. Browsers' URL reads many of them
 * otherwise.
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
  // What looks like a scheme and is none.
  if (!rest.startsWith('/') && rest.split('/', 1)[0]?.includes(':') === true) return undefined;
  const { authority, path } = splitAuthority(rest, scheme);
  const { userinfo, host } = splitUserinfo(authority);
  const escapedPath = escaped(path, 'path');
  if (escapedPath === undefined || !isHost(host)) return undefined;
  return { ...url, userinfo, host, escapedPath, escapedFragment };
}

/** A path that no URL can be read from, taken by the letter. */
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

/** The URL as Go writes it. */
export function formatGoURL({ scheme, opaque, userinfo, host, escapedPath, query, escapedFragment }: GoURL): string {
  const prefix = scheme === '' ? '' : `${scheme}:`;
  const user = userinfo === '' ? '' : `${userinfo}@`;
  const hasAuthority = host !== '' || userinfo !== '';
  const slash = host !== '' && escapedPath !== '' && !escapedPath.startsWith('/') ? '/' : '';
  const path = `${hasAuthority ? `//${user}${escape(Buffer.from(host), 'host')}` : ''}${slash}${escapedPath}`;
  return `${prefix}${opaque === '' ? path : opaque}${query}${escapedFragment === '' ? '' : `#${escapedFragment}`}`;
}

type Part = 'path' | 'fragment' | 'host';

// eslint-disable-next-line no-control-regex -- these are what is looked for
const hasControlCharacter = (text: string): boolean => /[\0-\x1f\x7f]/.test(text);

/** An undefined scheme: there is a colon without one before it. */
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

/** A name or an address, with or without a port; undefined port numbers are none of its business. */
function isHost(host: string): boolean {
  const [, bracketed, after = ''] = /^\[(.*)\](.*)$/.exec(host) ?? [];
  if (bracketed !== undefined) {
    const [address = '', zone] = bracketed.split('%25', 2);
    return isIPv6(address) && zone !== '' && /^(:\d*)?$/.test(after);
  }
  const colon = host.lastIndexOf(':');
  if (colon !== -1 && !/^:\d*$/.test(host.slice(colon))) return false;
  // Escapes stand for bytes beyond ASCII only.
  return /^(?:[\w\-.~!$&'()*+,;=:<>"]|[^\0-\x7f]|%[89a-fA-F][\da-fA-F]|%25)*$/.test(host);
}

/** The part as it is written where that is a valid way to write it, else escaped; undefined when an escape in it is broken. */
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

import { minNeedleLength } from './stands-alone.ts';
import { beginningHash, type BeginningHash } from './text-beginnings.ts';
import { toText } from './to-text.ts';

/** Shorter values match elsewhere by chance, and are quickly guessed anyway. */
const minValueLength = 4;
/** Lines of a value, and of all values, that are known in full. */
const maxLinesPerValue = 1000;
const maxLines = 3000;
/** Values, lines and credentials that are known in full. */
const maxParts = 5000;
/** Values that are too common to hide. */
const plainWords = new Set(['true', 'false', 'null', 'none']);

/** What to hide of some values. */
export interface SecretParts {
  /** The first parts, each once. */
  texts: readonly string[];
  /** Of all further parts, because there may be millions. A part may be there twice. */
  beginnings: readonly BeginningHash[];
}

/**
 * Each value without surrounding white space, its lines, and the credentials in it if it is a Docker configuration. The
 * number of texts is bounded.
 */
export function partsOf(values: Iterable<string>): SecretParts {
  const texts = new Set<string>();
  const beginnings: BeginningHash[] = [];
  let lines = 0;
  const add = (part: string, isInFull: boolean): void => {
    if (part.length < minValueLength || plainWords.has(part.toLowerCase()) || texts.has(part)) return;
    if (isInFull && texts.size < maxParts) texts.add(part);
    else beginnings.push(beginningHash(part));
  };
  for (const value of values) {
    const text = value.trim();
    add(text, true);
    let linesOfValue = 0;
    for (const line of linesOf(text)) {
      if (line.length < minNeedleLength) continue;
      linesOfValue += 1;
      lines += 1;
      add(line, linesOfValue <= maxLinesPerValue && lines <= maxLines);
    }
    for (const credential of credentialsIn(text)) add(credential, true);
  }
  return { texts: [...texts], beginnings };
}

/** Lines of a text with several, without surrounding white space. One by one, because there may be millions. */
function* linesOf(text: string): Generator<string, void> {
  if (!text.includes('\n')) return;
  for (let at = 0; at <= text.length;) {
    const end = text.indexOf('\n', at);
    const to = end < 0 ? text.length : end;
    yield text.slice(at, to).trim();
    at = to + 1;
  }
}

/** Secret fields of a Docker configuration. */
const credentialFields = new Set(['auth', 'password', 'identitytoken', 'registrytoken']);

/** Passwords and tokens in a Docker configuration. Empty for any other text. */
function credentialsIn(text: string): string[] {
  if (!text.startsWith('{') || !text.includes('"auth')) return [];
  const found: string[] = [];
  try {
    JSON.parse(text, (key, value: unknown) => {
      if (typeof value === 'string' && credentialFields.has(key.toLowerCase())) found.push(value, ...passwordIn(value));
      return value;
    });
  } catch {
    // Not JSON, so it is hidden as a whole and by line.
  }
  // An escape in JSON can be half a character.
  return found.map(toText);
}

/** The password in `auth`, the base64 of user and password. */
function passwordIn(auth: string): string[] {
  const text = Buffer.from(auth, 'base64').toString('utf8');
  return text.includes(':') ? [text.slice(text.indexOf(':') + 1)] : [];
}

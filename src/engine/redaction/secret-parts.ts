import { toText } from './secret-forms.ts';

/** Shorter values would match other text by chance, and are easily guessed anyway. */
const minValueLength = 4;
const minLineLength = 8;
/** How many lines of a value are searched for one by one. */
const maxLinesPerValue = 1000;
/** Values that are too common to redact. */
const plainWords = new Set(['true', 'false', 'null', 'none']);

/** What to redact of a value. */
export interface SecretParts {
  /** The value without surrounding white space, and the credentials in it if it is a Docker configuration. */
  values: string[];
  lines: string[];
}

export function partsOf(value: string): SecretParts {
  const text = value.trim();
  const lines = text.includes('\n') ? text.split('\n', maxLinesPerValue).map((line) => line.trim()) : [];
  return {
    values: [text, ...credentialsIn(text)].filter(
      (part) => part.length >= minValueLength && !plainWords.has(part.toLowerCase()),
    ),
    lines: lines.filter((line) => line.length >= minLineLength),
  };
}

/** Secret fields of a Docker configuration. */
const credentialFields = new Set(['auth', 'password', 'identitytoken', 'registrytoken']);

/** Returns the passwords and tokens in a Docker configuration. Empty for any other text. */
function credentialsIn(text: string): string[] {
  if (!text.startsWith('{') || !text.includes('"auth')) return [];
  const found: string[] = [];
  try {
    JSON.parse(text, (key, value: unknown) => {
      if (typeof value === 'string' && credentialFields.has(key.toLowerCase())) found.push(value, ...passwordIn(value));
      return value;
    });
  } catch {
    // It is not JSON, so it is redacted as a whole and by line.
  }
  // An escape in JSON can be half of a surrogate pair.
  return found.map(toText);
}

/** Returns the password in `auth`, the base64 of user and password. */
function passwordIn(auth: string): string[] {
  const text = Buffer.from(auth, 'base64').toString('utf8');
  return text.includes(':') ? [text.slice(text.indexOf(':') + 1)] : [];
}

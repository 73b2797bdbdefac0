import { boundedText } from '../../text/bounded-text.ts';
import type { SecretValues } from '../../engine/redaction/secret-values.ts';
import { textLimits } from '../../text/text-limits.ts';
import { visible } from '../../text/visible-text.ts';

type Facts = Record<string, unknown>;

/**
 * Makes an entry safe to write: each text is bounded and without values of Secrets, and the whole entry is cut to its
 * limit. `entry` is pino's JSON.
 */
export function outgoingEntry(entry: string, secrets: SecretValues): Facts {
  let bytesLeft: number = textLimits.logEntry;
  const clean = (text: string): string => {
    const bounded = boundedText(secrets.hide(text), Math.min(textLimits.message, Math.max(0, bytesLeft)));
    bytesLeft -= bounded.length;
    return bounded;
  };
  return mapTexts(JSON.parse(entry), clean) as Facts;
}

/** Makes an entry safe for a log of lines: no text starts a new line or controls a terminal. */
export function singleLineEntry(entry: Facts): Facts {
  return mapTexts(entry, (text, name) => (name === 'stack' ? visibleStack(text) : visible(text))) as Facts;
}

/** Keeps the line breaks between calls. Escapes those of the message, which may come from outside. */
function visibleStack(stack: string): string {
  const [said = '', ...calls] = stack.split(/\n(?= {4}at )/);
  return [visible(said), ...calls.map(visible)].join('\n');
}

function mapTexts(value: unknown, change: (text: string, name: string) => string, name = ''): unknown {
  if (typeof value === 'string') return change(value, name);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [visible(key), mapTexts(field, change, key)]));
}

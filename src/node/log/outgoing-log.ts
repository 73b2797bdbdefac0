import { boundedText } from '../../bounded-text.ts';
import type { SecretValues } from '../../engine/outgoing/secret-values.ts';
import { textLimits } from '../../text-limits.ts';
import { visible } from '../../visible-text.ts';

type Facts = Record<string, unknown>;

/**
 * An entry as it may be written: each text in it is bounded and tells no value of a Secret, and what goes beyond the limit of
 * an entry is left out. `entry` is what pino made of it.
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

/** The entry for a log of lines: no text of it begins a new one or does anything to a terminal. */
export function singleLineEntry(entry: Facts): Facts {
  return mapTexts(entry, (text, name) => (name === 'stack' ? visibleStack(text) : visible(text))) as Facts;
}

/** Calls are on lines of their own; what was said before them, and may have been said by anybody, is not. */
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

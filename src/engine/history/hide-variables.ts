import type { Pod } from '../../api/types.ts';

/** Shorter values would match other text by chance. */
const minVariableLength = 8;
const maxMessageLength = 1024;

/** Returns the message truncated to 1,024 characters, with `<hidden>` instead of each variable. */
export function hideVariables(message: string, variables: readonly string[]): string {
  // The longest come first, because one may be part of another.
  const ordered = variables.toSorted((a, b) => b.length - a.length);
  const hidden = ordered.reduce((text, variable) => text.replaceAll(variable, '<hidden>'), message);
  return hidden.length <= maxMessageLength ? hidden : `${hidden.slice(0, maxMessageLength)}…`;
}

/** Returns the values of the pod's variables. Values of Secrets were already redacted (engine/redaction). */
export function variableTexts({ metadata, spec }: Pod): string[] {
  const { initContainers = [], containers, ephemeralContainers = [], volumes = [] } = spec;
  const all = [...initContainers, ...containers, ...ephemeralContainers];
  // A value that is also a name stays visible, for example if a database is named like its container. Redacting it
  // would garble every message.
  const names = [metadata, ...all, ...volumes].map(({ name }) => name);
  const shown = [...names, ...all.map(({ image = '' }) => image)].join(' ');
  const values = all.flatMap(({ env = [] }) => env.map(({ value = '' }) => value));
  return [...new Set(values.filter((text) => text.length >= minVariableLength && !shown.includes(text)))];
}

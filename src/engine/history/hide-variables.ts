import type { Pod } from '../../api/types.ts';

/** Shorter texts are found everywhere by chance. */
const minVariableLength = 8;
/** How much of one message is kept. */
const maxMessageLength = 1024;

/** The message, of bearable length and with none of these texts in it. */
export function hideVariables(message: string, variables: readonly string[]): string {
  // The longest first: one may be a part of another.
  const ordered = variables.toSorted((a, b) => b.length - a.length);
  const hidden = ordered.reduce((text, variable) => text.replaceAll(variable, '<hidden>'), message);
  return hidden.length <= maxMessageLength ? hidden : `${hidden.slice(0, maxMessageLength)}…`;
}

/** What the variables of this pod hold. Values of Secrets are hidden in events before (engine/outgoing). */
export function variableTexts({ metadata, spec }: Pod): string[] {
  const { initContainers = [], containers, volumes = [] } = spec;
  const all = [...initContainers, ...containers];
  // What is a name as well, as of a database and its container, would take the sense from every message.
  const names = [metadata, ...all, ...volumes].map(({ name }) => name);
  const shown = [...names, ...all.map(({ image = '' }) => image)].join(' ');
  const values = all.flatMap(({ env = [] }) => env.map(({ value = '' }) => value));
  return [...new Set(values.filter((text) => text.length >= minVariableLength && !shown.includes(text)))];
}

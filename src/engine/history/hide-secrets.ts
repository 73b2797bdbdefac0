import type { ConfigObject } from '../../api/config-object.ts';
import { configObjectReferences } from '../../api/config-object-references.ts';
import type { Pod } from '../../api/types.ts';

/** Shorter texts are found everywhere by chance. */
const minSecretLength = 4;
const minVariableLength = 8;
/** How much of one message is kept. */
const maxMessageLength = 1024;

/** The message, of bearable length and with none of these texts in it. */
export function hideSecrets(message: string, secrets: readonly string[]): string {
  // The longest first: one may be a part of another.
  const ordered = secrets.toSorted((a, b) => b.length - a.length);
  const hidden = ordered.reduce((text, secret) => text.replaceAll(secret, '<hidden>'), message);
  return hidden.length <= maxMessageLength ? hidden : `${hidden.slice(0, maxMessageLength)}…`;
}

/** What must be in no message about this pod: values of its Secrets, whole and line by line, and of its variables. */
export function secretTexts(pod: Pod, objects: { find(key: string): ConfigObject | undefined }): string[] {
  const used = configObjectReferences(pod).flatMap((key) => objects.find(key) ?? []);
  const values = used.flatMap(({ kind, data }) => (kind === 'Secret' ? [...data.values()] : []));
  const secrets = values
    .map((value) => Buffer.from(value).toString('utf8'))
    .flatMap((text) => [text, text.trim(), ...text.split(/\r?\n/)])
    .filter((text) => text.length >= minSecretLength);
  const { initContainers = [], containers } = pod.spec;
  const all = [...initContainers, ...containers];
  // What is a name as well, as of a database and its container, would take the sense from every message.
  const names = [pod.metadata, ...all, ...(pod.spec.volumes ?? [])].map(({ name }) => name);
  const shown = [...names, ...all.map(({ image = '' }) => image)].join(' ');
  const variables = all
    .flatMap(({ env = [] }) => env.map(({ value = '' }) => value))
    .filter((text) => text.length >= minVariableLength && !shown.includes(text));
  return [...new Set([...secrets, ...variables])];
}

import type { Container } from '../../api/types.ts';
import { fnv1a32 } from '../../api/values/fnv-1a.ts';

/** Cached, because each sync and each snapshot of a pod compares the hashes of its containers. */
const known = new WeakMap<Container, { name: string; image: string; hash: number }>();

/**
 * Returns the hash of a container's identity: its name and image. Changing any other field never restarts the
 * container. kubelet: container/helpers.go HashContainer
 */
export function containerHash(container: Container): number {
  const { name, image = '' } = container;
  const last = known.get(container);
  if (last?.name === name && last.image === image) return last.hash;
  const hash = hashOf(name, image);
  known.set(container, { name, image, hash });
  return hash;
}

function hashOf(name: string, image: string): number {
  // The kubelet hashes the printed form of the JSON's bytes, not the bytes.
  const json = Buffer.from(goJSON({ image, name }));
  return fnv1a32(`([]uint8)[${json.join(' ')}]`);
}

/** Returns the hash in the form of the annotation `io.kubernetes.container.hash`. */
export function containerHashHex(container: Container): string {
  return containerHash(container).toString(16);
}

const escapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** Returns JSON exactly as Go writes it, for strings that are hashed or compared. Keys keep their order. */
export function goJSON(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => escapes[character] ?? character);
}

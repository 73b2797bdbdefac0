import { createHash } from 'node:crypto';
import { loadPod, type LoadResult } from '../../src/api/load-pod.ts';
import { realisticPod } from '../builders/realistic-manifests.ts';
import { SeededRandom } from '../builders/seeded-random.ts';
import { printJson, printYamlBlock, printYamlFlow, toTree } from '../builders/value-tree.ts';
import { mutateStructure } from './mutate-structure.ts';
import { mutateText } from './mutate-text.ts';

/** The bytes of one case. The same seed, number and corpus make the same bytes. */
export function makeCase(corpus: readonly string[], seed: number, number: number): Uint8Array {
  const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ number);
  if (random.chance(0.7)) return mutateText(random.pick(corpus), random.pick(corpus), random);
  const tree = mutateStructure(toTree(realisticPod(random, number)), random);
  const text = random
    .pick([printJson, printYamlFlow, printYamlBlock])(tree)
    .slice(0, 64 * 1024);
  return random.chance(0.2) ? mutateText(text, random.pick(corpus), random) : Buffer.from(text);
}

/** Loads a case as the file source does. */
export function loadCase(bytes: Uint8Array): LoadResult {
  return loadPod(bytes, { nodeName: 'edge1', source: 'file', origin: '/manifests/case.yaml', hash });
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What is wrong with the result of a load, whatever was loaded; undefined when nothing is. */
export function findFault({ pod, problems }: LoadResult, bytes: Uint8Array): string | undefined {
  const hasError = problems.some(({ severity }) => severity === 'error');
  if (hasError === (pod !== undefined)) return pod ? 'a pod came with an error' : 'neither a pod nor an error came';
  if (problems.length > maxProblems) return `${problems.length} problems came`;
  const lines = linesOf(bytes);
  for (const { column, hint, line, message, origin } of problems) {
    if (origin === '' || message === '' || hint === '') return 'a problem has an empty text';
    if (message.length > 500) return `a message of ${message.length} characters came`;
    if (line === undefined || column === undefined) continue;
    const length = lines[line - 1]?.length;
    if (length === undefined || column < 1 || column > length + 1) return `no such place ${line}:${column}: ${message}`;
  }
  if ('polluted' in {}) return 'a manifest changed what every object inherits';
  return pod && findPodFault(pod);
}

/** Errors and warnings of decoding, errors of validation, and a line that counts the rest. */
const maxProblems = 250;

function findPodFault({ kind, metadata, spec }: NonNullable<LoadResult['pod']>): string | undefined {
  if (kind !== 'Pod' || metadata.name === '' || metadata.uid === '') return 'the pod has no identity';
  return Array.isArray(spec.containers) && spec.containers.length > 0 ? undefined : 'the pod has no containers';
}

function linesOf(bytes: Uint8Array): string[] {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes).split(/\r\n|[\n\r\u0085]/);
}

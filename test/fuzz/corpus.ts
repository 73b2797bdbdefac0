import { readdirSync, readFileSync } from 'node:fs';
import { realisticManifests } from '../builders/realistic-manifests.ts';
import { SeededRandom } from '../builders/seeded-random.ts';
import { printJson, printYamlBlock, printYamlFlow, toTree } from '../builders/value-tree.ts';
import { realisticObject } from './realistic-objects.ts';

/**
 * The texts that mutations start from: recorded manifests, good and bad, examples of this repository, made ones of
 * every kind, and texts of several documents.
 */
export function loadCorpus(repository: URL): string[] {
  const recorded = ['valid', 'invalid', 'edge'].flatMap((file) =>
    readFileSync(new URL(`test/golden/manifests/${file}.jsonl`, repository), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { manifest?: string })
      .flatMap(({ manifest }) => (manifest === undefined ? [] : [manifest])),
  );
  const folder = new URL('manifests/', repository);
  const examples = readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const pods = realisticManifests(200, 1);
  const random = new SeededRandom(1);
  const objects = Array.from({ length: 200 }, (_, number) =>
    random.pick([printJson, printYamlFlow, printYamlBlock])(toTree(realisticObject(random, number))),
  );
  const texts = [...recorded, ...examples, ...pods, ...objects];
  const several = Array.from({ length: 200 }, () =>
    random.times(2, 4, () => random.pick(texts)).join(random.pick(['\n---\n', '\n...\n---\n', '\n--- # next\n'])),
  );
  return [...texts, ...several];
}

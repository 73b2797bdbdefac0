import { readdirSync, readFileSync } from 'node:fs';
import { realisticManifests } from '../builders/realistic-manifests.ts';

/** The texts that mutations start from: recorded manifests, good and bad, examples of this repository, and made ones. */
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
  return [...recorded, ...examples, ...realisticManifests(200, 1)];
}

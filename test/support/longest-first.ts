import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * E2e tests that take longest, the longest first. One that starts last would run alone at the end. Vitest knows the
 * times of its last run only, and a fresh clone had none.
 */
const longest = [
  ...['facts/facts', 'chaos', 'agent-restart', 'orphan-shims', 'rounds/rounds', 'screen', 'no-stack'],
  ...[
    'executable',
    'oci-source',
    'docs',
    'run-once',
    'log-flood',
    'managed-containerd',
    'upgrade',
    'eviction',
    'bad-manifests',
  ],
].map((name) => `/e2e/${name}.test.ts`);

/** Starts the longest tests of each group first, then the others as Vitest does. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longest.findIndex((path) => moduleId.endsWith(path));
  return place === -1 ? longest.length : place;
}

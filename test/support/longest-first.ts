import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The e2e tests that take longest, longest first. If one of them started last, it would run alone at the end. Vitest
 * only knows durations from its last run, and a fresh clone has none.
 */
const longest = [
  ...['facts/facts', 'chaos', 'bundles', 'agent-restart', 'orphan-shims', 'rounds/rounds', 'screen', 'no-stack'],
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

/** Starts the longest tests of each group first, then the others in Vitest's order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = longest.findIndex((path) => moduleId.endsWith(path));
  return place === -1 ? longest.length : place;
}

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { deliberateDifferences } from '../golden-runner/deliberate-differences.ts';

test('docs/reference/compatibility.md names as many deliberate differences as the replay of recordings counts apart', () => {
  const page = readFileSync(new URL('../../docs/reference/compatibility.md', import.meta.url), 'utf8');
  const [, differences = ''] = page.split('Twenty differences are deliberate');
  expect(differences.match(/^- /gm)).toHaveLength(deliberateDifferences.length);
  expect(deliberateDifferences).toHaveLength(20);
});

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { deliberateDifferences } from '../golden-runner/deliberate-differences.ts';

test('docs/compatibility.md names as many deliberate differences as the replay of recordings counts apart', () => {
  const page = readFileSync(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');
  const [introduction = ''] = page.split('\n## ');
  expect(introduction.match(/^- /gm)).toHaveLength(deliberateDifferences.length);
  expect(introduction).toContain('Four differences are deliberate');
  expect(deliberateDifferences).toHaveLength(4);
});

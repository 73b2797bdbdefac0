import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setOwnOOMScoreAdj } from '../../src/node/own-oom-score.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** What is said, by level. */
async function told(oomScoreAdj: number, path: string): Promise<[level: string, oomScoreAdj: unknown][]> {
  const lines: [string, unknown][] = [];
  const note =
    (level: string) =>
    (facts: unknown): void => {
      lines.push([level, (facts as { oomScoreAdj: unknown }).oomScoreAdj]);
    };
  await setOwnOOMScoreAdj(oomScoreAdj, { debug: note('debug'), info: note('info'), warn: note('warn') }, path);
  return lines;
}

test('the score is written', async () => {
  const path = join(await temporaryFolder(), 'oom_score_adj');
  expect(await told(-998, path)).toEqual([]);
  expect(await readFile(path, 'utf8')).toBe('-998');
});

test('a kernel that refuses the default, as without CAP_SYS_RESOURCE, is not reported', async () => {
  // Nobody may write this one.
  expect(await told(-999, '/proc/sys/kernel/ostype')).toEqual([['debug', -999]]);
});

test('reports that it cannot be written, as a warning if it was configured', async () => {
  const folder = await temporaryFolder();
  expect(await told(-999, folder)).toEqual([['info', -999]]);
  expect(await told(-500, folder)).toEqual([['warn', -500]]);
});

import { expect, test } from 'vitest';
import type { ApiRuntime } from '../../../src/server/api/api-engine.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ApiRig, handlerOptions } from './api-rig.ts';

/** Answers without the folder and the time, and the time-outs and deadlines that reached the runtime. */
async function checkpoints(...timeouts: string[]): Promise<{ answers: string[]; seen: unknown[] }> {
  const seen: unknown[] = [];
  const checkpointContainer: ApiRuntime['checkpointContainer'] = ({ timeout } = {}, { deadlineMs } = {}) => {
    seen.push([timeout, deadlineMs]);
    return Promise.resolve({});
  };
  const options = { ...handlerOptions, rootDir: await temporaryFolder() };
  const rig = await ApiRig.open({ runtime: { checkpointContainer }, options });
  const client = await rig.authority.issue('carol');
  const answers: string[] = [];
  for (const timeout of timeouts) {
    const answer = await rig.short(`POST /checkpoint/default/web/a?timeout=${timeout}`, { client });
    answers.push(answer.replace(/"\/.*"/, 'FILE'));
  }
  return { answers, seen };
}

test('the time-out of a checkpoint is a number of 64 bits, and no less than that of the runtime', async () => {
  const accepted = ['5', '-0', '%2B121', '00000000000000000000122', '9223372036854775807'];
  const refused = ['', '1s', '1_0', '+1', '9223372036854775808', '-9223372036854775809'];
  const negative = ['-1', '-9223372036854775808'];
  const tooLow = '500 checkpointing of default/web/a failed (CheckpointContainer requires the timeout value to be > 0)';
  expect(await checkpoints(...accepted, ...refused, ...negative)).toEqual({
    answers: [
      ...accepted.map(() => '200 {"items":[FILE]}'),
      ...refused.map(() => '404 cannot parse value of timeout parameter'),
      ...negative.map(() => tooLow),
    ],
    seen: [
      [120n, 120_000],
      [120n, 120_000],
      [121n, 121_000],
      [122n, 122_000],
      [9223372036854775807n, 366 * 86_400_000],
    ],
  });
});

test.each([
  ['none', 'text/plain; charset=utf-8'],
  ['%01', 'application/octet-stream'],
])('the answer for the unknown container %s has the type that Go reads from it', async (name, type) => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const [head = '', body] = (await rig.ask(`POST /checkpoint/default/web/${name}`, { client })).split('\r\n\r\n');
  expect([/^Content-Type: (.*)$/im.exec(head)?.[1], body]).toEqual([
    type,
    `container ${decodeURIComponent(name)} does not exist`,
  ]);
});

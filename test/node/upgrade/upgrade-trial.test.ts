import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { markText, programFiles, readUpgradeState } from '../../../src/node/upgrade/program-files.ts';
import { UpgradeTrial } from '../../../src/node/upgrade/upgrade-trial.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { lineLogger } from '../../fakes/line-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const mark = markText('0.1.0', '0.2.0');

async function world() {
  const program = join(await temporaryFolder(), 'kubelet-ts');
  const clock = new FakeClock();
  const { logger, lines } = lineLogger();
  const state = { runtime: undefined as string | undefined, stuck: undefined as string | undefined };
  const warnings: unknown[] = [];
  const kubelet = {
    recordNodeWarning: (warning: unknown) => void warnings.push(warning),
    unhealthyBecause: () => state.runtime,
    stuckBecause: () => state.stuck,
  };
  return { program, clock, logger, lines, state, warnings, kubelet };
}

test('an upgrade is complete when the engine and the runtime have worked for ten seconds', async () => {
  const { program, clock, logger, lines, state, warnings, kubelet } = await world();
  await writeFile(programFiles(program).pending(2), mark);
  state.runtime = 'container runtime is down';
  const trial = await UpgradeTrial.open(program, { clock, logger, version: '0.2.0' });
  const ended = trial.run(kubelet, new AbortController().signal);
  await clock.advance(10_000);
  [state.runtime, state.stuck] = [undefined, 'the sync loop is stuck'];
  await clock.advance(10_000);
  expect(await readUpgradeState(program)).toMatchObject({ kind: 'pending' });
  state.stuck = undefined;
  await clock.advance(10_000);
  await ended;
  expect(await readUpgradeState(program)).toBeUndefined();
  expect([lines, warnings]).toEqual([['info The upgrade is complete {"from":"0.1.0","to":"0.2.0"}'], []]);
});

test('an upgrade that a power cut interrupted before the new program was in place is a warning', async () => {
  const { program, clock, logger, lines, kubelet } = await world();
  await writeFile(programFiles(program).pending(2), mark);
  const trial = await UpgradeTrial.open(program, { clock, logger, version: '0.1.0' });
  const ended = trial.run(kubelet, new AbortController().signal);
  await clock.advance(10_000);
  await ended;
  expect(await readUpgradeState(program)).toBeUndefined();
  expect(lines).toEqual([
    'warn An upgrade was interrupted {"from":"0.1.0","to":"0.2.0","hint":"Run kubelet-ts upgrade again"}',
  ]);
});

test('an agent that stops before leaves the mark, and so does one whose upgrade began after its start', async () => {
  const { program, clock, logger, kubelet } = await world();
  const earlier = await UpgradeTrial.open(program, { clock, logger });
  await writeFile(programFiles(program).pending(3), mark);
  await earlier.run(kubelet, new AbortController().signal);
  const stopping = new AbortController();
  const ended = (await UpgradeTrial.open(program, { clock, logger })).run(kubelet, stopping.signal);
  stopping.abort(new Error('stop'));
  await expect(ended).rejects.toThrow('stop');
  expect(await readUpgradeState(program)).toMatchObject({ kind: 'pending' });
});

test('an upgrade that the guard has undone is an event at each start', async () => {
  const { program, clock, logger, warnings, kubelet } = await world();
  await writeFile(programFiles(program).restored, mark);
  await (await UpgradeTrial.open(program, { clock, logger })).run(kubelet, new AbortController().signal);
  expect(warnings).toEqual([
    {
      reason: 'UpgradeUndone',
      message: 'The upgrade from 0.1.0 to 0.2.0 was undone, because it did not become healthy in three starts',
    },
  ]);
  expect(await readUpgradeState(program)).toMatchObject({ kind: 'restored' });
});

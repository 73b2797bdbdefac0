import { beforeEach, expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { Faults } from '../../src/flow/faults.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

let clock: FakeClock;
let faults: Faults;
let stopping: AbortController;

beforeEach(() => {
  clock = new FakeClock(0);
  faults = new Faults({ clock, logger: silentLogger });
  stopping = new AbortController();
});

const noneLeft = (): Error => Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });

test('a part that fails is run again, after 1 s, 2 s, 4 s, and so on', async () => {
  const startedAt: number[] = [];
  const run = async (): Promise<void> => {
    startedAt.push(clock.monotonic());
    if (startedAt.length < 4) throw noneLeft();
    await clock.sleep(Infinity, { signal: stopping.signal });
  };
  const kept = faults.keepRunning('pleg', run, stopping.signal);
  await clock.advance(7000);
  expect(startedAt).toEqual([0, 1000, 3000, 7000]);
  expect(faults.snapshot()).toEqual([{ part: 'pleg', count: 3, lastAt: 3000, message: 'EMFILE: too many open files' }]);
  stopping.abort(new Error('stop'));
  await kept;
});

test('a part that returns is done', async () => {
  await faults.keepRunning('images', () => Promise.resolve(), stopping.signal);
  expect(faults.snapshot()).toEqual([]);
});

test('a part that ends because the agent stops did not fail', async () => {
  const kept = faults.keepRunning('pleg', () => clock.sleep(1000, { signal: stopping.signal }), stopping.signal);
  stopping.abort(new Error('stop'));
  await kept;
  expect(faults.snapshot()).toEqual([]);
});

test('what has to be done first is tried until it is, unless the user has to do something', async () => {
  const answers = [noneLeft, () => 'done'];
  const work = async (): Promise<string> => {
    const answer = answers.shift()?.() ?? '';
    if (answer instanceof Error) throw answer;
    return Promise.resolve(answer);
  };
  const done = faults.untilDone('pod folders', work, stopping.signal);
  await clock.advance(1000);
  expect(await done).toBe('done');
  const refused = faults.untilDone('cgroups', () => Promise.reject(new UserError('no such cgroup')), stopping.signal);
  await expect(refused).rejects.toThrow('no such cgroup');
});

test('what nobody waits for is counted when it fails', async () => {
  faults.watch('clean-up', Promise.reject(noneLeft()));
  faults.watch('clean-up', Promise.resolve());
  await clock.advance(0);
  expect(faults.snapshot()).toEqual([
    { part: 'clean-up', count: 1, lastAt: 0, message: 'EMFILE: too many open files' },
  ]);
});

test('a bug is logged with its stack, what the system refuses in one line', () => {
  const lines: unknown[] = [];
  const logger = {
    ...silentLogger,
    warn: (facts: unknown) => lines.push(facts),
    error: (facts: unknown) => lines.push(facts),
  };
  const logging = new Faults({ clock, logger });
  const bug = new TypeError('x is undefined');
  logging.record('pleg', noneLeft());
  logging.record('pleg', new Error('reading failed', { cause: noneLeft() }));
  logging.record('pleg', bug);
  expect(lines).toEqual([
    { part: 'pleg', err: 'EMFILE: too many open files' },
    { part: 'pleg', err: 'reading failed' },
    { part: 'pleg', err: bug },
  ]);
});

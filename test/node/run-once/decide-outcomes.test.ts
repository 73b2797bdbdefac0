import { describe, expect, test } from 'vitest';
import type { Pod, PodStatus } from '../../../src/api/types.ts';
import { podRef } from '../../../src/api/values/pod-names.ts';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import type { PodOutcome } from '../../../src/node/run-once/run-once-outcome.ts';
import { decideOutcomes } from '../../../src/node/run-once/decide-outcomes.ts';
import { makeAPIContainerStatus } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeView } from '../../tui/fake-terminal.ts';
import { makeEntry, makeSnapshot } from '../../tui/make-snapshot.ts';

const timeoutMs = 60_000;
const ready = { outcome: 'ready', exitCode: 0, message: '' };

/** A run of the pod `web`, and what came of it so far. */
function startRun() {
  const clock = new FakeClock();
  const made = makeEntry('web', { containerState: { running: {} } });
  const pod = { ...made.pod, spec: { ...made.pod.spec, restartPolicy: 'Always' } };
  const entry = { ...made, pod };
  const view = new FakeView(makeSnapshot([entry]));
  const decided: PodOutcome[] = [];
  const end = { until: 'auto', decider: undefined, timeoutMs, signal: new AbortController().signal, clock } as const;
  const run = decideOutcomes(view, [pod], end).then((outcomes) => {
    decided.push(...outcomes.values());
    return outcomes;
  });
  const ref = podRef(pod);
  const change = (status: PodStatus): void => {
    view.current = makeSnapshot([{ ...entry, pod: { ...pod, status } }]);
    view.emit({ at: 0, type: 'PodStatusChanged', pod: ref, phase: status.phase ?? '', ready: false });
  };
  const becomes = (isReady: boolean): void => {
    change({ ...pod.status, conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] });
  };
  const record = (event: Partial<Extract<KubeletEvent, { type: 'Recorded' }>>): void => {
    const rest = { pod: ref, containerName: 'main' };
    view.emit({ at: 0, type: 'Recorded', eventType: 'Warning', reason: 'Failed', message: '', ...rest, ...event });
  };
  return { clock, decided, run, pod, change, becomes, record };
}

test('a pod is Ready when it has been so for a second', async () => {
  const { clock, decided, run, becomes } = startRun();
  becomes(true);
  await clock.advance(999);
  becomes(false);
  await clock.advance(5000);
  becomes(true);
  await clock.advance(999);
  expect(decided).toEqual([]);
  await clock.advance(1);
  expect([...(await run).values()]).toEqual([ready]);
});

test('what is not decided when the time is up has no outcome', async () => {
  const { clock, run } = startRun();
  await clock.advance(timeoutMs);
  expect(await run).toEqual(new Map());
});

test('of a registry that does not answer, the third failed pull in a row decides', async () => {
  const { decided, run, pod, change, record } = startRun();
  const message = 'dial tcp 192.0.2.1:443: connect: connection refused';
  const fail = (): void => {
    record({ message: `Failed to pull image "app:1": ${message}`, cause: 'imagePull' });
    const containerStatuses = pod.status?.containerStatuses?.map((status) => ({
      ...status,
      state: { waiting: { reason: 'ErrImagePull', message } },
    }));
    change({ phase: 'Pending', ...(containerStatuses && { containerStatuses }) });
  };
  fail();
  fail();
  record({ eventType: 'Normal', reason: 'Pulled' });
  fail();
  fail();
  expect(decided).toEqual([]);
  fail();
  expect([...(await run).values()]).toEqual([
    { outcome: 'not started', exitCode: 125, message: `ErrImagePull: ${message}`, container: 'main' },
  ]);
});

describe('with a deciding pod', () => {
  /** A run of `test`, which waits for `db`, with the outcomes so far. */
  function startDecided() {
    const clock = new FakeClock();
    const made = makeEntry('db', { containerState: { running: {} } });
    const db = { ...made.pod, spec: { ...made.pod.spec, restartPolicy: 'Always' } };
    const waits: PodStatus = { phase: 'Pending', reason: 'WaitingForPods', message: 'Waiting for db to be Ready' };
    const job = makeEntry('test').pod;
    const annotations = { 'kubelet-ts.io/depends-on': 'db' };
    const test: Pod = { ...job, metadata: { ...job.metadata, annotations }, status: waits };
    const view = new FakeView(makeSnapshot([{ ...made, pod: db }, makeEntry('test')]));
    const decider = { podUID: test.metadata.uid, container: undefined };
    const end = { until: 'auto', decider, timeoutMs, signal: new AbortController().signal, clock } as const;
    const run = decideOutcomes(view, [db, test], end);
    const dbBecomes = (status: PodStatus): void => {
      view.current = makeSnapshot([
        { ...made, pod: { ...db, status } },
        { ...makeEntry('test'), pod: test },
      ]);
      view.emit({ at: 0, type: 'PodStatusChanged', pod: podRef(db), phase: status.phase ?? '', ready: false });
    };
    return { clock, run, dbBecomes, test };
  }
  const crashed = makeAPIContainerStatus({ name: 'main', lastState: { terminated: { exitCode: 1 } } });

  test('a dependency that crashed may become Ready at its next start', async () => {
    const { clock, run, dbBecomes } = startDecided();
    dbBecomes({ phase: 'Running', containerStatuses: [crashed] });
    await clock.advance(timeoutMs);
    expect([...(await run).values()]).toEqual([
      { outcome: 'failed', exitCode: 1, message: 'container main exited with code 1', container: 'main' },
    ]);
  });

  test('a dependency that failed for good ends the run', async () => {
    const { run, dbBecomes, test: job } = startDecided();
    dbBecomes({ phase: 'Failed', reason: 'Evicted', message: 'no disk' });
    expect((await run).get(job.metadata.uid)).toEqual({
      outcome: 'not started',
      exitCode: 125,
      message: 'Waiting for db to be Ready',
    });
  });
});

import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { KernelLog } from '../../../src/engine/oom/kernel-log.ts';
import { type OOMContainer, OOMWatcher } from '../../../src/engine/oom/oom-watcher.ts';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import { EventRecorder } from '../../fakes/event-recorder.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import {
  cgroupKill,
  containerCgroup,
  containerID,
  groupKill,
  podCgroup,
  podUID,
  systemKill,
} from './kernel-records.ts';

const pod = { namespace: 'default', name: 'web-edge1', uid: podUID };
const app: OOMContainer = { id: containerID, pod, name: 'app', limit: '16Mi' };
const tail = { pid: 3108, name: 'tail' };

let clock: FakeClock;
let events: EventRecorder;
let watcher: OOMWatcher;
/** Messages that the kernel logged and nobody read. */
let logged: string[];
/** Containers that were looked for. */
let asked: string[];
const { signal } = new AbortController();

beforeEach(async () => {
  clock = new FakeClock();
  events = new EventRecorder(clock);
  asked = [];
  logged = cgroupKill({ pid: 1, name: 'before-the-start' });
  await start(() => ({
    read: (maxRecords) => {
      const messages = logged.splice(0, maxRecords);
      return { messages, isAtEnd: logged.length === 0 };
    },
    close: () => undefined,
  }));
});

async function start(openKernelLog: () => KernelLog): Promise<void> {
  watcher = new OOMWatcher({
    openKernelLog,
    findContainer: (id) => {
      asked.push(id);
      return Promise.resolve(id === app.id ? app : undefined);
    },
    findPod: (uid) => (uid === podUID ? pod : undefined),
    clock,
    emit: events.emit,
    logger: silentLogger,
  });
  const stopping = new AbortController();
  const running = watcher.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort(new Error('the test is over'));
    await running.catch(() => undefined);
  });
  await clock.advance(1000);
}

const startWithoutKernelLog = (): Promise<void> =>
  start(() => {
    throw new Error('not shown');
  });

/** The events as `reason container: message`, with the kind of the pod. */
const recorded = (): string[] =>
  events.events.flatMap((event) =>
    event.type === 'Recorded'
      ? [`${event.reason} ${event.pod?.name ?? 'node'} ${event.containerName ?? '-'}: ${event.message}`]
      : [],
  );

const died = (finishedAt: number, reason = 'OOMKilled'): KubeletEvent => ({
  at: finishedAt,
  type: 'ContainerDied',
  pod,
  id: containerID,
  containerName: 'app',
  end: { restartCount: 0, exitCode: 137, reason, message: '', startedAt: 0, finishedAt },
});

const figures = 'anon-rss 16128Ki, file-rss 1296Ki, shmem-rss 0';
const whole = `OOMKilling web-edge1 app: Out of memory: killed process 3108 (tail), ${figures}; limit of the container 16Mi`;
const plain = 'OOMKilling web-edge1 app: Out of memory: a process was killed; limit of the container 16Mi';

describe('a kill in a container', () => {
  test('is one event with process, figures and hint, whichever of its signs come', async () => {
    logged.push(...cgroupKill(tail));
    await watcher.killedIn(containerID, signal);
    await watcher.killedInPod(podUID, [containerID], signal);
    await watcher.killedInPod(podUID, [], signal);
    await watcher.containerDied(died(clock.now()), signal);
    await clock.advance(10_000);
    expect(events.events).toEqual([
      {
        at: clock.now() - 10_000,
        type: 'Recorded',
        eventType: 'Warning',
        reason: 'OOMKilling',
        message: `Out of memory: killed process 3108 (tail), ${figures}; limit of the container 16Mi`,
        hint: 'Find out why its memory grows, or raise resources.limits.memory.',
        pod,
        containerName: 'app',
      },
    ]);
  });

  test('is noticed without any other sign within ten seconds', async () => {
    logged.push(...cgroupKill(tail));
    expect(recorded()).toEqual([]);
    await clock.advance(10_000);
    expect(recorded()).toEqual([whole]);
  });

  test('that the kernel logs a second after the runtime has reported it is one event', async () => {
    const reported = watcher.killedIn(containerID, signal);
    await clock.advance(250);
    logged.push(...cgroupKill(tail));
    await clock.advance(1000);
    await reported;
    expect(recorded()).toEqual([whole]);
  });

  test('that the kernel does not log is an event without process', async () => {
    const reported = watcher.killedIn(containerID, signal);
    const ended = watcher.containerDied(died(clock.now()), signal);
    await clock.advance(1249);
    expect(recorded()).toEqual([]);
    await clock.advance(1);
    await Promise.all([reported, ended]);
    expect(recorded()).toEqual([plain]);
  });

  test('is one event if its signs come a minute apart, and the next kill is another one', async () => {
    logged.push(...cgroupKill(tail));
    await clock.advance(60_000);
    const late = [
      watcher.killedIn(containerID, signal),
      watcher.killedInPod(podUID, [containerID], signal),
      watcher.killedInPod(podUID, [], signal),
    ];
    await clock.advance(10_000);
    await Promise.all(late);
    expect(recorded()).toEqual([whole]);
    const next = watcher.killedIn(containerID, signal);
    await clock.advance(10_000);
    await next;
    expect(recorded()).toEqual([whole, plain]);
  });

  test('that the kernel logs a minute after the runtime has reported it is one event', async () => {
    const reported = watcher.killedIn(containerID, signal);
    await clock.advance(60_000);
    await reported;
    logged.push(...cgroupKill(tail));
    await clock.advance(10_000);
    expect(recorded()).toEqual([plain]);
    logged.push(...cgroupKill(tail));
    await clock.advance(10_000);
    expect(recorded()).toEqual([plain, whole]);
  });

  test('says if the limit was that of the pod, or of a cgroup above', async () => {
    logged.push(...cgroupKill(tail, { limitCgroup: podCgroup }));
    await clock.advance(15_000);
    logged.push(...cgroupKill(tail, { limitCgroup: '/kubepods', limitKi: 1500 }), groupKill);
    await clock.advance(15_000);
    const killed = 'OOMKilling web-edge1 app: Out of memory: killed process 3108 (tail)';
    expect(recorded()).toEqual([
      `${killed}, ${figures}; limit of the pod 16Mi`,
      `${killed} and all other processes of its cgroup, ${figures}; limit of the cgroup /kubepods 1500Ki`,
    ]);
  });

  test('is found by cgroups of the systemd driver, and below the container', async () => {
    const slice = `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${podUID}.slice`;
    logged.push(...cgroupKill(tail, { cgroup: `${slice}/cri-containerd-${containerID}.scope/deep/er` }));
    await clock.advance(10_000);
    expect(recorded().map((text) => text.split(',')[0])).toEqual([whole.split(',')[0]]);
  });

  test('that is already gone is an event of its pod', async () => {
    logged.push(...cgroupKill(tail, { cgroup: `${podCgroup}/gone` }));
    await clock.advance(10_000);
    expect(recorded()).toEqual([
      `OOMKilling web-edge1 -: Out of memory: killed process 3108 (tail), ${figures}; limit of the pod 16Mi`,
    ]);
  });

  test('is searched at two places, however deep its cgroup is', async () => {
    logged.push(...cgroupKill(tail, { cgroup: `${podCgroup}/gone${'/x'.repeat(1000)}` }));
    await clock.advance(10_000);
    expect(asked).toEqual(['gone', 'x']);
  });

  test('many times over is counted: an event every ten seconds', async () => {
    for (let round = 0; round < 4; round++) {
      logged.push(...cgroupKill(tail), ...cgroupKill(tail));
      await watcher.killedIn(containerID, signal);
      await clock.advance(5000);
    }
    expect(recorded()).toEqual([whole, `${whole}; at least 3 more kills since the last report`]);
  });
});

test('a kill because the machine ran out of memory is an event of the node too', async () => {
  logged.push(...systemKill(tail, containerCgroup), ...systemKill({ pid: 9, name: 'sshd' }, '/system.slice'));
  await clock.advance(10_000);
  expect(recorded()).toEqual([
    'SystemOOM node -: System OOM encountered, victim process: tail, pid: 3108',
    `OOMKilling web-edge1 app: Out of memory: killed process 3108 (tail), ${figures}; the machine ran out of memory`,
    'SystemOOM node -: System OOM encountered, victim process: sshd, pid: 9',
  ]);
});

test('kills in cgroups of others are no events', async () => {
  logged.push(...cgroupKill(tail, { cgroup: '/system.slice/db.service' }));
  logged.push(...cgroupKill(tail, { cgroup: '/kubepods/burstable/podother/c1' }));
  await watcher.killedIn('of-another-owner', signal);
  await clock.advance(10_000);
  expect(recorded()).toEqual([]);
});

describe('without the log of the kernel', () => {
  test('a kill is an event at once, by the first sign', async () => {
    await startWithoutKernelLog();
    await watcher.killedIn(containerID, signal);
    await watcher.containerDied(died(clock.now()), signal);
    expect(recorded()).toEqual([plain]);
  });

  test('a kill that only the cgroup of the pod counts is an event of the pod', async () => {
    await startWithoutKernelLog();
    await watcher.killedInPod(podUID, [], signal);
    expect(recorded()).toEqual(['OOMKilling web-edge1 -: Out of memory: a process was killed']);
  });

  test('the end of a container is a sign, unless it is from before the start', async () => {
    await startWithoutKernelLog();
    await watcher.containerDied(died(clock.now() - 60_000), signal);
    await watcher.containerDied(died(clock.now(), 'Error'), signal);
    expect(recorded()).toEqual([]);
    await watcher.containerDied(died(clock.now()), signal);
    expect(recorded()).toEqual([plain]);
  });
});

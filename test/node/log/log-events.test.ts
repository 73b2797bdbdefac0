import { describe, expect, test } from 'vitest';
import { logEvents } from '../../../src/node/log/log-events.ts';
import type { KubeletEvent, ManifestProblem } from '../../../src/engine/view/events.ts';
import { lineLogger } from '../../fakes/line-logger.ts';

describe('the log of an engine', () => {
  /** The log lines of these events, as `level message facts`. */
  function logOf(...events: KubeletEvent[]): string[] {
    const { logger, lines } = lineLogger();
    const snapshot = (): never => {
      throw new Error('The log needs no snapshot');
    };
    const subscribe = (listener: (event: KubeletEvent) => void): (() => void) => {
      for (const event of events) listener(event);
      return () => undefined;
    };
    logEvents({ snapshot, subscribe }, logger);
    return lines;
  }

  const pod = { namespace: 'default', name: 'web-edge1', uid: 'u1' };

  test('has a line at most every ten seconds for a pull', () => {
    const progressed = (at: number, containerName = 'app'): KubeletEvent => ({
      at,
      type: 'PullProgressed',
      pod,
      containerName,
      image: 'app:1',
      receivedBytes: 1_000_000 + at * 100,
      totalBytes: 10_000_000,
    });
    const events = [progressed(0), progressed(9999), progressed(9999, 'side'), progressed(10_000), progressed(11_000)];
    expect(logOf(...events)).toEqual([
      'info Pulling image {"pod":"default/web-edge1","containerName":"app","image":"app:1","progress":"10% 1.0/10.0 MB"}',
      'info Pulling image {"pod":"default/web-edge1","containerName":"side","image":"app:1","progress":"19% 2.0/10.0 MB"}',
      'info Pulling image {"pod":"default/web-edge1","containerName":"app","image":"app:1","progress":"20% 2.0/10.0 MB"}',
    ]);
  });

  test('has a line for what users care about, each problem of a manifest by itself', () => {
    expect(
      logOf(
        {
          at: 0,
          type: 'SourceRead',
          source: 'file',
          where: '/m',
          pods: 1,
          problems: [
            { origin: '/m/a.yaml', severity: 'error', message: 'broken', line: 2 },
            { origin: '/m/b.yaml', severity: 'warning', message: 'odd' },
          ],
        },
        { at: 0, type: 'PodAdded', pod, source: 'file' },
        { at: 0, type: 'PodStatusChanged', pod, phase: 'Running', ready: true },
        { at: 0, type: 'Recorded', eventType: 'Normal', reason: 'Started', message: 'Container started', pod },
        {
          at: 0,
          type: 'Recorded',
          eventType: 'Warning',
          reason: 'BackOff',
          message: 'Back-off',
          pod,
          containerName: 'main',
        },
        { at: 0, type: 'RuntimeReady', name: 'containerd', version: '2' },
        { at: 0, type: 'RuntimeNotReady', message: 'no answer' },
      ),
    ).toEqual([
      'info Read manifests {"source":"/m","pods":1}',
      'error broken {"origin":"/m/a.yaml","line":2}',
      'warn odd {"origin":"/m/b.yaml"}',
      'info Pod added {"pod":"default/web-edge1","podUID":"u1","source":"file"}',
      'info Pod status {"pod":"default/web-edge1","phase":"Running","ready":true}',
      'info Container started {"pod":"default/web-edge1","reason":"Started"}',
      'warn Back-off {"pod":"default/web-edge1","containerName":"main","reason":"BackOff"}',
      'info Container runtime is ready {"runtime":"containerd","version":"2"}',
      'error Container runtime is not ready {"err":"no answer"}',
    ]);
  });

  test('reports how a container ended: by its exit code, a signal, or for want of memory', () => {
    const died = (exitCode: number, reason?: string): KubeletEvent => ({
      at: 0,
      type: 'ContainerDied',
      pod,
      id: 'c1',
      containerName: 'main',
      exitCode,
      ...(reason !== undefined && {
        end: { restartCount: 0, exitCode, reason, message: 'a secret', startedAt: 1, finishedAt: 2 },
      }),
    });
    const ended = 'info Container ended {"pod":"default/web-edge1","containerName":"main","containerID":"c1",';
    const ends = [died(0, 'Completed'), died(3, 'Error'), died(143), died(137, 'OOMKilled'), died(128, 'StartError')];
    expect(logOf(...ends)).toEqual([
      `${ended}"exit":"0"}`,
      `${ended}"exit":"3"}`,
      `${ended}"exit":"143 (SIGTERM)"}`,
      `${ended}"exit":"137 (SIGKILL)","reason":"OOMKilled"}`,
      // Its start that failed is an event.
      `${ended.replace('info', 'debug')}"exit":"128","reason":"StartError"}`,
    ]);
  });

  test('has a line for a status that differs from the last one of its pod, and no other', () => {
    const status = (phase: string, ready: boolean, uid = 'u1'): KubeletEvent => ({
      at: 0,
      type: 'PodStatusChanged',
      pod: { ...pod, uid },
      phase,
      ready,
    });
    const events = [
      status('Pending', false),
      status('Pending', false),
      status('Pending', false, 'u2'),
      status('Running', false),
      status('Running', true),
      status('Running', true),
      status('Running', false),
    ];
    expect(logOf(...events)).toEqual([
      'info Pod status {"pod":"default/web-edge1","phase":"Pending","ready":false}',
      'info Pod status {"pod":"default/web-edge1","phase":"Pending","ready":false}',
      'info Pod status {"pod":"default/web-edge1","phase":"Running","ready":false}',
      'info Pod status {"pod":"default/web-edge1","phase":"Running","ready":true}',
      'info Pod status {"pod":"default/web-edge1","phase":"Running","ready":false}',
    ]);
  });

  test('has one line for a pull that failed, with what to do', () => {
    const failed = (message: string, hint?: string): KubeletEvent => ({
      at: 0,
      type: 'Recorded',
      eventType: 'Warning',
      reason: 'Failed',
      message,
      pod,
      ...(hint !== undefined && { hint }),
    });
    const lines = logOf(failed('Failed to pull image "a:1": no such host', 'Load it.'), failed('Error: ErrImagePull'));
    expect(lines.filter((line) => !line.startsWith('debug'))).toEqual([
      'warn Failed to pull image "a:1": no such host {"pod":"default/web-edge1","reason":"Failed","hint":"Load it."}',
    ]);
  });

  test('has a date where the engine counts milliseconds', () => {
    const lastGoodAt = Date.parse('2026-01-02T03:04:05Z');
    const problem: ManifestProblem = { origin: '/m/a.yaml', severity: 'error', message: 'broken', lastGoodAt };
    const read: KubeletEvent = { at: 0, type: 'SourceRead', source: 'file', where: '/m', pods: 1, problems: [problem] };
    expect(logOf(read)).toContain('error broken {"origin":"/m/a.yaml","lastGoodAt":"2026-01-02T03:04:05.000Z"}');
  });

  test('has a problem once while it lasts', () => {
    const broken = { origin: '/m/a.yaml', severity: 'error', message: 'broken' } as const;
    const odd = { origin: '/m/b.yaml', severity: 'warning', message: 'odd' } as const;
    const read = (...problems: ManifestProblem[]): KubeletEvent => ({
      at: 0,
      type: 'SourceRead',
      source: 'file',
      where: '/m',
      pods: 1,
      problems,
    });
    const lines = logOf(read(broken), read(broken, odd), read(odd), read(broken));
    expect(lines.filter((line) => !line.startsWith('info'))).toEqual([
      'error broken {"origin":"/m/a.yaml"}',
      'warn odd {"origin":"/m/b.yaml"}',
      'error broken {"origin":"/m/a.yaml"}',
    ]);
  });

  test('keeps what only happens all the time for the debug level', () => {
    expect(
      logOf(
        { at: 0, type: 'SyncStarted', pod, state: 'sync' },
        { at: 0, type: 'SyncFinished', pod, durationMs: 1, nextSyncAt: 2 },
        { at: 0, type: 'WorkerStateChanged', pod, state: 'terminating' },
        { at: 0, type: 'ContainerRemoved', pod, id: 'c1', containerName: 'main' },
        { at: 0, type: 'ContainerDied', pod, id: 's1' },
      ),
    ).toEqual([
      'debug Pod worker {"pod":"default/web-edge1","state":"terminating"}',
      'debug PLEG event {"pod":"default/web-edge1","event":"ContainerRemoved","containerName":"main","containerID":"c1"}',
      'debug Sandbox ended {"pod":"default/web-edge1","containerID":"s1"}',
    ]);
  });
});

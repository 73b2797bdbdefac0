import { describe, expect, test } from 'vitest';
import { formatHistory, type HistoryLine } from '../../../src/engine/history/history-entry.ts';
import { historyOf, PodHistory, type SingleEvent } from '../../../src/engine/history/pod-history.ts';

const event = (at: number, message = 'Readiness probe failed: no', more: Partial<SingleEvent> = {}): SingleEvent => ({
  podUID: 'u1',
  eventType: 'Warning',
  reason: 'Unhealthy',
  message,
  containerName: 'main',
  at,
  ...more,
});

const end = (id: string, restartCount = 0) =>
  ({
    kind: 'end',
    podUID: 'u1',
    containerName: 'main',
    containerID: id,
    restartCount,
    exitCode: 137,
    reason: 'OOMKilled',
    message: '',
    startedAt: 1000,
    finishedAt: 2000,
  }) as const;

describe('events of one kind', () => {
  test('are counted, with the message of the newest one', () => {
    const history = new PodHistory();
    for (const [at, output] of [
      [1000, 'a'],
      [2000, 'b'],
      [3000, 'c'],
    ] as const) {
      history.addEventOnce(event(at, `Readiness probe failed: ${output}`));
    }
    expect(history.entries()).toEqual([
      {
        kind: 'event',
        podUID: 'u1',
        eventType: 'Warning',
        reason: 'Unhealthy',
        message: 'Readiness probe failed: c',
        containerName: 'main',
        count: 3,
        firstAt: 1000,
        lastAt: 3000,
      },
    ]);
  });

  test('are distinguished by container, by revision, and after an hour of quiet', () => {
    const history = new PodHistory();
    history.addEventOnce(event(0));
    history.addEventOnce(event(1, undefined, { containerName: 'log' }));
    history.addEventOnce(event(2, undefined, { podUID: 'u2' }));
    history.addEventOnce(event(3_600_000));
    expect(history.entries()).toHaveLength(4);
  });

  test('that come every ten seconds for a day are written less than two hundred times', () => {
    const history = new PodHistory();
    let lines = 0;
    for (let at = 0; at < 86_400_000; at += 10_000) if (history.addEventOnce(event(at)) !== undefined) lines += 1;
    expect(lines).toBeLessThan(200);
    expect(history.entries()).toMatchObject([{ count: 8640 }]);
  });

  test('are written when their number has doubled, or after ten minutes', () => {
    const written = (periodMs: number, times: number): number[] => {
      const history = new PodHistory();
      return Array.from({ length: times }, (_, index) => history.addEventOnce(event(index * periodMs))).flatMap(
        (line) => line?.count ?? [],
      );
    };
    expect(written(1000, 600)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    expect(written(60_000, 40)).toEqual([1, 2, 4, 8, 16, 26, 36]);
  });

  test('are replayed from their lines, with what was left unwritten', () => {
    const history = new PodHistory();
    const lines: HistoryLine[] = [];
    for (let at = 0; at < 100_000; at += 1000) {
      const line = history.addEventOnce(event(at));
      if (line !== undefined) lines.push(line);
    }
    expect(lines.length).toBeLessThan(10);
    lines.push(...history.unwritten());
    expect(historyOf(formatHistory(lines)).entries()).toEqual(history.entries());
  });
});

test('the end of a container is reported once, however often it is seen', () => {
  const history = new PodHistory();
  expect(history.addEnd(end('c1'))).toEqual(end('c1'));
  expect(historyOf(formatHistory([end('c1')])).addEnd(end('c1'))).toBeUndefined();
  expect(history.addEnd(end('c1'))).toBeUndefined();
  expect(history.entries()).toEqual([end('c1')]);
});

test('only the newest events and ends are kept', () => {
  const history = new PodHistory();
  for (let index = 0; index < 200; index++) {
    history.addEventOnce(event(index, `Pulled image ${index}`));
    history.addEnd(end(`c${index}`, index));
  }
  const entries = history.entries();
  expect(entries.filter(({ kind }) => kind === 'event')).toHaveLength(64);
  expect(entries.filter(({ kind }) => kind === 'end')).toHaveLength(32);
  expect(entries.at(-1)).toEqual(end('c199', 199));
});

describe('restart counts', () => {
  test('never fall, whatever comes later', () => {
    const history = new PodHistory();
    expect(history.nextRestartCount('u1', 'main')).toBe(0);
    history.addRestarts('u1', 'main', 0);
    expect(history.nextRestartCount('u1', 'main')).toBe(1);
    history.addRestarts('u1', 'main', 7);
    expect(history.addRestarts('u1', 'main', 3)).toBeUndefined();
    expect(history.nextRestartCount('u1', 'main')).toBe(8);
    expect(history.nextRestartCount('u1', 'log')).toBe(0);
    expect(history.nextRestartCount('u2', 'main')).toBe(0);
  });

  test('are in the lines that a new file begins with', () => {
    const history = new PodHistory();
    history.addRestarts('u1', 'main', 7);
    history.addRestarts('u1', 'log', 2);
    expect(historyOf(formatHistory(history.restarts())).nextRestartCount('u1', 'main')).toBe(8);
    expect(historyOf(formatHistory(history.restarts())).nextRestartCount('u1', 'log')).toBe(3);
  });

  test('start over when nothing is left of the pod', () => {
    const history = new PodHistory();
    history.addRestarts('u1', 'main', 7);
    history.replay({ kind: 'removed', podUID: 'u1' });
    expect(history.nextRestartCount('u1', 'main')).toBe(0);
  });
});

test('lines that are torn, empty, of another release or no objects are passed over', () => {
  const good = formatHistory([end('c1')]);
  const text = [
    `${good.slice(0, -20)}\n`,
    good,
    '\n\nnull\n17\n"end"\n[]\n{}\n{"kind":"toString","podUID":"u1"}\n{"kind":"end","podUID":"u1"}\n',
    '{"kind":"restarts","podUID":"u1","counts":{"main":"7"}}\n{"kind":"restarts","podUID":"u1","counts":null}\n',
    good.slice(0, 40),
  ].join('');
  expect(historyOf(text).entries()).toEqual([end('c1')]);
});

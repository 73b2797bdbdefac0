import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';
import { describe, expect, test } from 'vitest';
import { cronRun, jobPod } from '../../../src/api/values/job-pod.ts';
import { CronWorld, makeCron, minuteMs, shown } from './cron-world.ts';

const at = (time: string): number => Date.parse(`2026-${time}Z`);
const begun = (world: CronWorld): string[] => world.begun.map(shown);

test('a run begins when it is due, and has its own Job', () => {
  const world = new CronWorld(makeCron(), '11-29T12:05');
  expect(world.decision).toMatchObject({ nextRunAt: at('11-29T12:10'), nextMs: 5 * minuteMs });
  world.pass(20);
  expect(begun(world)).toEqual(['11-29T12:10', '11-29T12:20']);
  const [first] = world.record?.runs ?? [];
  const name = `dump-${at('11-29T12:10') / minuteMs}`;
  expect(first?.job.name).toBe(name);
  expect(first && jobPod(first.job, { slot: 0, attempt: 0 }, podUIDHash).metadata.name).toBe(`${name}-edge1`);
});

test('the same run has the same pod, another run another one', () => {
  const uid = (time: string): string => cronRun(makeCron(), at(time), podUIDHash).template.metadata.uid;
  expect(uid('11-29T12:10')).toBe(uid('11-29T12:10'));
  expect(uid('11-29T12:20')).not.toBe(uid('11-29T12:10'));
});

test('a run that was due before the CronJob was declared does not begin', () => {
  const world = new CronWorld(makeCron({ schedule: '@daily' }), '11-29T12:05');
  expect(world.begun).toEqual([]);
});

test('a machine that was off runs the newest missed run, once', () => {
  const world = new CronWorld(makeCron(), '11-29T12:05');
  world.off(100);
  world.off(1);
  expect(begun(world)).toEqual(['11-29T13:40']);
  world.pass(5);
  expect(begun(world)).toEqual(['11-29T13:40', '11-29T13:50']);
});

test('a run that an operator requests begins in the second of a scheduled one too, once', () => {
  const world = new CronWorld(makeCron(), '11-29T12:05');
  world.pass(5);
  world.requests = [world.now];
  world.decide();
  world.decide();
  expect(begun(world)).toEqual(['11-29T12:10', '11-29T12:10']);
});

test('a run that an operator requests remains for a minute, even if its time to live is shorter', () => {
  const { rules } = makeCron();
  const world = new CronWorld(makeCron({ rules: { ...rules, ttlSecondsAfterFinished: 0 } }), '11-29T12:05');
  world.requests = [world.now];
  world.decide();
  world.requests = [];
  world.end(at('11-29T12:05'));
  expect(world.over().map(shown)).toEqual(['11-29T12:05']);
  world.pass(1);
  expect(world.over()).toEqual([]);
});

test('a missed run begins only within its deadline', () => {
  const world = new CronWorld(makeCron({ schedule: '@hourly', startingDeadlineSeconds: 600 }), '11-29T12:05');
  world.off(70);
  expect(world.begun).toEqual([]);
  expect(world.record?.missed).toEqual({ at: at('11-29T13:00'), because: 'TooLate' });
  world.off(55);
  expect(begun(world)).toEqual(['11-29T14:00']);
});

describe('if the last run is still active', () => {
  test('Allow begins the next one next to it', () => {
    const world = new CronWorld(makeCron(), '11-29T12:05');
    world.pass(20);
    expect(world.active().map(shown)).toEqual(['11-29T12:10', '11-29T12:20']);
  });

  test('Forbid waits, and begins the newest one when it ends', () => {
    const world = new CronWorld(makeCron({ concurrencyPolicy: 'Forbid' }), '11-29T12:05');
    world.pass(32);
    expect(begun(world)).toEqual(['11-29T12:10']);
    expect(world.record?.missed).toEqual({ at: at('11-29T12:30'), because: 'Active' });
    world.end(at('11-29T12:10'));
    expect(begun(world)).toEqual(['11-29T12:10', '11-29T12:30']);
  });

  test('Replace stops it', () => {
    const world = new CronWorld(makeCron({ concurrencyPolicy: 'Replace' }), '11-29T12:05');
    world.pass(20);
    expect(begun(world)).toEqual(['11-29T12:10', '11-29T12:20']);
    expect(world.active().map(shown)).toEqual(['11-29T12:20']);
  });
});

test('a suspended CronJob begins nothing, and catches up with the newest run', () => {
  const world = new CronWorld(makeCron(), '11-29T12:05');
  world.change({ isSuspended: true });
  expect(world.decision?.nextRunAt).toBeUndefined();
  world.pass(60);
  expect(world.begun).toEqual([]);
  world.change({ isSuspended: false });
  expect(begun(world)).toEqual(['11-29T13:00']);
});

test('another schedule counts from when it was declared', () => {
  const world = new CronWorld(makeCron({ schedule: '@daily' }), '11-29T12:05');
  world.change({ schedule: '0 12 * * *' });
  expect(world.begun).toEqual([]);
  world.pass(24 * 60);
  expect(begun(world)).toEqual(['11-30T12:00']);
});

test('a changed template concerns the next run, not the active one', () => {
  const world = new CronWorld(makeCron(), '11-29T12:05');
  world.pass(5);
  const { template } = world.cron;
  world.change({ template: { ...template, metadata: { ...template.metadata, uid: 'd1' } } });
  world.pass(10);
  expect(begun(world)).toEqual(['11-29T12:10', '11-29T12:20']);
});

test('the newest runs that are over remain to be seen', () => {
  const world = new CronWorld(makeCron({ successfulJobsHistoryLimit: 2 }), '11-29T12:05');
  for (let run = 0; run < 6; run++) {
    world.pass(10);
    world.end(world.begun.at(-1) ?? 0, run % 3 === 0 ? 'Failed' : 'Succeeded');
  }
  const runs = (world.record?.runs ?? []).map(({ scheduledAt, record }) => [
    shown(scheduledAt),
    record.outcome?.result,
  ]);
  expect(runs).toEqual([
    ['11-29T12:40', 'Failed'],
    ['11-29T12:50', 'Complete'],
    ['11-29T13:00', 'Complete'],
  ]);
  expect(world.record).toMatchObject({ lastScheduleTime: at('11-29T13:00'), lastSuccessfulTime: world.now });
});

test('a run that is over for its time to live is removed', () => {
  const world = new CronWorld(
    makeCron({ rules: { ...makeCron().rules, ttlSecondsAfterFinished: 120 } }),
    '11-29T12:05',
  );
  world.pass(5);
  world.end(at('11-29T12:10'));
  world.pass(1);
  expect(world.record?.runs).toHaveLength(1);
  world.pass(1);
  expect(world.record?.runs).toHaveLength(0);
});

describe('a clock that is set', () => {
  test('back by an hour runs nothing until it has caught up', () => {
    const world = new CronWorld(makeCron(), '11-29T12:05');
    world.pass(30);
    world.setClock(-60);
    world.pass(64);
    expect(begun(world)).toEqual(['11-29T12:10', '11-29T12:20', '11-29T12:30']);
    world.pass(1);
    expect(begun(world).at(-1)).toBe('11-29T12:40');
  });

  test('back by days into time with runs repeats none of them', () => {
    const world = new CronWorld(makeCron({ schedule: '@daily' }), '11-29T12:05');
    world.pass(4 * 24 * 60);
    const runs = ['11-30T00:00', '12-01T00:00', '12-02T00:00', '12-03T00:00'];
    expect(begun(world)).toEqual(runs);
    world.setClock(-3 * 24 * 60);
    world.pass(3 * 24 * 60);
    expect(begun(world)).toEqual(runs);
    world.pass(24 * 60);
    expect(begun(world)).toEqual([...runs, '12-04T00:00']);
  });

  test('ahead by an hour runs the newest run, as after a time without power', () => {
    const world = new CronWorld(makeCron(), '11-29T12:05');
    world.setClock(60);
    expect(begun(world)).toEqual(['11-29T13:00']);
  });

  test('to a wrong year and back continues where it was', () => {
    const world = new CronWorld(makeCron({ schedule: '@daily' }), '11-29T12:05');
    const years = 4 * 365 * 24 * 60;
    world.pass(24 * 60);
    world.setClock(years);
    world.setClock(-years);
    world.pass(24 * 60);
    expect(begun(world)).toEqual(['11-30T00:00', '11-29T00:00', '12-01T00:00']);
  });

  test('from 1970, where a machine without a battery starts, runs the newest run', () => {
    const world = new CronWorld(makeCron(), '11-29T12:05');
    world.setClock(-world.now / minuteMs);
    world.pass(3);
    expect(world.begun).toEqual([]);
    world.setClock((at('11-29T12:33') - world.now) / minuteMs);
    expect(begun(world)).toEqual(['11-29T12:30']);
  });
});

test.each(['before the record is written', 'before pods are declared'] as const)(
  'an agent that is killed %s begins the run once',
  (kill) => {
    const world = new CronWorld(makeCron(), '11-29T12:05');
    world.now += 5 * minuteMs;
    world.decide(kill);
    expect(world.begun).toEqual([]);
    world.decide();
    world.decide();
    expect(begun(world)).toEqual(['11-29T12:10']);
  },
);

test('runs that operators request at the same time all remain until their results are read', () => {
  const world = new CronWorld(
    makeCron({ schedule: '@daily', successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 }),
    '11-29T12:05',
  );
  const [first, second] = [world.now, world.now + 1000];
  world.requests = [first, second];
  world.decide();
  world.requests = [];
  world.finish(first, 'Failed');
  world.finish(second);
  world.decide();
  expect(world.over()).toEqual([first, second]);
  world.pass(2);
  expect(world.over()).toEqual([second]);
});

test('runs that never end do not fill the record', () => {
  const world = new CronWorld(makeCron({ schedule: '* * * * *' }), '11-29T12:05');
  world.pass(200);
  expect(world.active()).toHaveLength(120);
  expect(world.record?.missed?.because).toBe('Active');
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConcurrencyPolicy } from '../../../src/api/values/job.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';
import { CronWorld, type Kill, makeCron, minuteMs, shown } from './cron-world.ts';

const dayMs = 24 * 60 * minuteMs;

interface Rules {
  schedule: keyof typeof isDue;
  /** Two that change their clocks in the month after the start. */
  zone: { timeZone: string; start: string };
  concurrencyPolicy: ConcurrencyPolicy;
  deadlineMinutes: number | undefined;
  /** How long runs take. */
  runMinutes: number;
}

/** A minute of a local clock. */
interface Local {
  minuteOfDay: number;
  date: string;
}

/** Reads a local clock, at any minute. */
function localClock(timeZone: string): (time: number) => Local {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    dateStyle: 'short',
    timeStyle: 'short',
  });
  const known = new Map<number, Local>();
  return (time) => {
    const quarter = Math.floor(time / (15 * minuteMs));
    let local = known.get(quarter);
    if (local === undefined) {
      const [date = '', hour, minute] = format.format(quarter * 15 * minuteMs).split(/, |:/);
      local = { date, minuteOfDay: Number(hour) * 60 + Number(minute) };
      known.set(quarter, local);
    }
    return { ...local, minuteOfDay: local.minuteOfDay + (Math.floor(time / minuteMs) % 15) };
  };
}

type Clock = ReturnType<typeof localClock>;
const every =
  (minutes: number) =>
  (at: Clock, time: number): boolean =>
    at(time).minuteOfDay % minutes === 0;
/** The first minute of a day at which its clock shows this time or a later one. */
const daily =
  (minuteOfDay: number) =>
  (at: Clock, time: number): boolean => {
    const now = at(time);
    if (now.minuteOfDay < minuteOfDay) return false;
    return !Array.from({ length: 180 }, (_, index) => at(time - (index + 1) * minuteMs)).some(
      (earlier) => earlier.date === now.date && earlier.minuteOfDay >= minuteOfDay,
    );
  };
const isDue = {
  '*/10 * * * *': every(10),
  '*/30 * * * *': every(30),
  '@hourly': every(60),
  '0 */6 * * *': every(6 * 60),
  '@daily': daily(0),
  '30 2 * * *': daily(150),
};

const fails = (run: number): boolean => Math.floor(run / minuteMs / 10) % 4 === 0;

/** The rules in words of the documentation, minute by minute. It knows neither the library nor records. */
class PlainModel {
  readonly begun: number[] = [];
  isSuspended = false;
  /** Nothing runs at these times, nor what was due in them. */
  private handled: { from: number; to: number }[] = [];
  /** How many runs had begun when it was declared again. */
  declaredAgainAt = 0;
  private earliest = Infinity;
  /** The runs that ended by themselves. */
  private readonly over = new Set<number>();
  private active: { scheduledAt: number; endsAt: number }[] = [];
  private readonly clock: Clock;
  /** The newest run that is due, by minute. */
  private readonly newestAt = new Map<number, number>();

  constructor(private readonly rules: Rules) {
    this.clock = localClock(rules.zone.timeZone);
  }

  /** What an agent does that runs at this minute. `age` counts the minutes of the world, whatever its clock shows. */
  minute(now: number, age: number): void {
    const { concurrencyPolicy, deadlineMinutes = Infinity, runMinutes } = this.rules;
    for (const { scheduledAt, endsAt } of this.active) if (endsAt <= age) this.over.add(scheduledAt);
    this.active = this.active.filter(({ endsAt }) => endsAt > age);
    const newest = this.newest(now);
    if (now < this.earliest) {
      // The clock has never shown this: nothing that was due earlier runs.
      this.earliest = now - dayMs;
      this.handle(now);
    }
    if (this.isSuspended || this.isHandled(now) || this.isHandled(newest)) return;
    if (now - newest > deadlineMinutes * minuteMs) return;
    if (concurrencyPolicy === 'Forbid' && this.active.length > 0) return;
    if (concurrencyPolicy === 'Replace') this.active = [];
    this.handle(newest);
    this.begun.push(newest);
    this.active.push({ scheduledAt: newest, endsAt: age + runMinutes });
  }

  /** Its manifest was removed and added again: it begins anew. */
  declareAgain(): void {
    this.declaredAgainAt = this.begun.length;
    this.earliest = Infinity;
    this.active = [];
    this.handled = [];
    this.over.clear();
  }

  /** The last three that succeeded, and the last one that failed, in the order in which they began. */
  keptRuns(): number[] {
    const over = this.begun.slice(this.declaredAgainAt).filter((run) => this.over.has(run));
    const kept = [...over.filter((run) => !fails(run)).slice(-3), ...over.filter(fails).slice(-1)];
    return over.filter((run) => kept.includes(run));
  }

  activeRuns(): number[] {
    return this.active.map(({ scheduledAt }) => scheduledAt);
  }

  /** A run stands for those of the day before it. */
  private handle(time: number): void {
    const last = this.handled.at(-1);
    if (last !== undefined && last.from <= time - dayMs && time - dayMs <= last.to) last.to = Math.max(last.to, time);
    else this.handled.push({ from: time - dayMs, to: time });
  }

  private isHandled(time: number): boolean {
    return this.handled.some(({ from, to }) => from <= time && time <= to);
  }

  private newest(time: number): number {
    const due = isDue[this.rules.schedule];
    let at = time;
    while (!this.newestAt.has(at) && !due(this.clock, at)) at -= minuteMs;
    const newest = this.newestAt.get(at) ?? at;
    for (let minute = at; minute <= time; minute += minuteMs) this.newestAt.set(minute, newest);
    return newest;
  }
}

type Step =
  | { kind: 'run'; minutes: number }
  | { kind: 'off'; minutes: number }
  | { kind: 'clock'; minutes: number }
  | { kind: 'suspend' }
  | { kind: 'declareAgain' }
  | { kind: 'kill'; at: Kill };

const minutes = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 3 * 60 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 36 * 60 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 5 * 24 * 60 }) },
);
const jump = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -180, max: 180 }) },
  { weight: 2, arbitrary: fc.integer({ min: -3 * 24 * 60, max: 3 * 24 * 60 }) },
  // A wrong year, and back.
  { weight: 1, arbitrary: fc.constantFrom(-400 * 24 * 60, 400 * 24 * 60) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: minutes.map((value): Step => ({ kind: 'run', minutes: value })) },
  { weight: 3, arbitrary: minutes.map((value): Step => ({ kind: 'off', minutes: value })) },
  { weight: 3, arbitrary: jump.map((value): Step => ({ kind: 'clock', minutes: value })) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'suspend' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'declareAgain' }) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom<Kill[]>('before the record is written', 'before pods are declared')
      .map((at): Step => ({ kind: 'kill', at })),
  },
);
// Safe cast: the object has no other keys.
const typedKeys = Object.keys(isDue) as (keyof typeof isDue)[];
const rules = fc.record<Rules>({
  schedule: fc.constantFrom(...typedKeys),
  zone: fc.constantFrom(
    { timeZone: 'Etc/UTC', start: '11-01T00:07' },
    { timeZone: 'Europe/Berlin', start: '10-20T00:07' },
    { timeZone: 'Europe/Berlin', start: '03-20T00:07' },
    { timeZone: 'America/New_York', start: '10-25T00:07' },
  ),
  concurrencyPolicy: fc.constantFrom<ConcurrencyPolicy[]>('Allow', 'Forbid', 'Replace'),
  deadlineMinutes: fc.constantFrom(undefined, 5, 90),
  runMinutes: fc.constantFrom(1, 7, 45, 200),
});
const monthMinutes = 30 * 24 * 60;

test(
  'a month of reboots, clock jumps and kills: every run exactly once, as the rules say',
  () => {
    fc.assert(
      fc.property(rules, fc.array(step, { minLength: 40, maxLength: 80 }), (rule, steps) => {
        const model = new PlainModel(rule);
        const { deadlineMinutes, concurrencyPolicy } = rule;
        const world = new CronWorld(
          makeCron({
            schedule: rule.schedule,
            timeZone: rule.zone.timeZone,
            concurrencyPolicy,
            ...(deadlineMinutes !== undefined && { startingDeadlineSeconds: deadlineMinutes * 60 }),
          }),
          rule.zone.start,
        );
        let age = 0;
        let lastState = '';
        const endsAt = new Map<number, number>();
        /** The model and the agent at the same minute, which both see what has ended since. */
        const compare = (decide: () => void): void => {
          const ended = world.active().filter((run) => (endsAt.get(run) ?? Infinity) <= age);
          for (const run of ended) world.finish(run, fails(run) ? 'Failed' : 'Succeeded');
          decide();
          if (ended.length > 0) world.decide();
          model.minute(world.now, age);
          for (const run of world.active()) if (!endsAt.has(run)) endsAt.set(run, age + rule.runMinutes);
          const [count, active, over] = [world.begun.length, world.active().join(), world.over().join()];
          const state = [count, active, over, model.begun.length, model.activeRuns().join()].join(' ');
          if (state !== lastState)
            expect(world.over().map(shown), `kept at ${shown(world.now)}`).toEqual(model.keptRuns().map(shown));
          lastState = state;
          if (count === model.begun.length && active === model.activeRuns().join()) return;
          expect(world.begun.map(shown), `begun at ${shown(world.now)}`).toEqual(model.begun.map(shown));
          expect(world.active().map(shown), `active at ${shown(world.now)}`).toEqual(model.activeRuns().map(shown));
        };
        model.minute(world.now, age);
        for (const one of steps) {
          if (age > monthMinutes) break;
          switch (one.kind) {
            case 'run':
              for (let minute = 0; minute < one.minutes; minute++) {
                age++;
                compare(() => {
                  world.pass(1);
                });
              }
              break;
            case 'off':
              age += one.minutes;
              compare(() => {
                world.off(one.minutes);
              });
              break;
            case 'clock':
              compare(() => {
                world.setClock(one.minutes);
              });
              break;
            case 'suspend':
              model.isSuspended = !model.isSuspended;
              compare(() => {
                world.change({ isSuspended: model.isSuspended });
              });
              break;
            case 'declareAgain':
              compare(() => {
                endsAt.clear();
                model.declareAgain();
                world.declareAgain();
              });
              break;
            case 'kill':
              age++;
              world.now += minuteMs;
              compare(() => {
                world.decide(one.at);
                world.decide();
              });
          }
        }
        expect(world.begun.map(shown)).toEqual(model.begun.map(shown));
        const begun = world.begun.slice(model.declaredAgainAt);
        expect(new Set(begun).size).toBe(begun.length);
      }),
      propertyRuns(2),
    );
  },
  propertyTimeoutMs,
);

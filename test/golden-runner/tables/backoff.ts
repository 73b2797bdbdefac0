import { BackOff } from '../../../src/flow/back-off.ts';
import { tableAdapter } from '../table-adapter.ts';

interface Event {
  op: 'next' | 'get' | 'isInBackOffSince' | 'isInBackOffSinceUpdate' | 'reset' | 'gc' | 'sync';
  now: number;
  eventTime: number;
  key?: string;
}
interface In {
  initialSeconds: number;
  maxSeconds: number;
  resetAfterSeconds?: number;
  events: Event[];
}

export const backoff = tableAdapter<In>('backoff', ({ initialSeconds, maxSeconds, resetAfterSeconds, events }) => {
  let now = 0;
  const backOff = new BackOff(
    { monotonic: () => now },
    {
      initialMs: ms(initialSeconds),
      maxMs: ms(maxSeconds),
      ...(resetAfterSeconds !== undefined && { resetAfterMs: ms(resetAfterSeconds) }),
    },
  );
  const results = events.map((event) => {
    now = ms(event.now);
    return playOne(backOff, event);
  });
  return { results };
});

const ms = (seconds: number): number => Math.round(seconds * 1000);

function playOne(backOff: BackOff, { op, key = 'key', ...event }: Event): unknown {
  const eventTime = ms(event.eventTime);
  const seconds = (): number => backOff.get(key) / 1000;
  switch (op) {
    case 'next':
      backOff.next(key, eventTime);
      return seconds();
    case 'get':
      return seconds();
    case 'isInBackOffSince':
      return backOff.isInBackOffSince(key, eventTime);
    case 'isInBackOffSinceUpdate':
      return backOff.isInBackOffSinceUpdate(key, eventTime);
    case 'reset':
      backOff.reset(key);
      return null;
    case 'gc':
      backOff.gc();
      return null;
    case 'sync': {
      const start = !backOff.isInBackOffSince(key, eventTime);
      if (start) backOff.next(key, eventTime);
      return { backoffSeconds: seconds(), start };
    }
  }
}

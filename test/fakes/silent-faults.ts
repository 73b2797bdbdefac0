import { Faults } from '../../src/flow/faults.ts';
import { FakeClock } from './fake-clock.ts';
import { silentLogger } from './silent-logger.ts';

/** For components that can fail, in tests about something else. */
export function silentFaults(): Faults {
  return new Faults({ clock: new FakeClock(), logger: silentLogger });
}

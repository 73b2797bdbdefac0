import { Faults } from '../../src/flow/faults.ts';
import { FakeClock } from './fake-clock.ts';
import { silentLogger } from './silent-logger.ts';

/** For parts that can go wrong, when that is not the point. */
export function silentFaults(): Faults {
  return new Faults({ clock: new FakeClock(), logger: silentLogger });
}

import { UserError } from '../../src/errors.ts';

/**
 * What `act` gives, as the tables write it: `ok: false` in its place when the input is refused as a mistake of its
 * author.
 */
export function orRefused(act: () => object): object {
  try {
    return { ok: true, ...act() };
  } catch (error) {
    if (error instanceof UserError) return { ok: false };
    throw error;
  }
}

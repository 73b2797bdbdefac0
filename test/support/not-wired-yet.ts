/**
 * Code in src/ that no program uses yet, grouped by the work that will use it. `knip --production` reports all other
 * code that only tests reach. Delete a line once its work is done.
 */

// No work is planned: the recorded tables need it
export { checkDNS1035Label } from '../../src/api/values/names.ts';

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readClientCA } from '../../../src/node/client-ca.ts';
import { readPolicyFile } from '../../../src/server/api/policy-file.ts';
import { readTokenFile } from '../../../src/server/api/token-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test.each([
  ['--token-auth-file', readTokenFile],
  ['--authorization-policy-file', readPolicyFile],
  ['authentication.x509.clientCAFile (--client-ca-file)', readClientCA],
])('a file of %s that cannot be read is named with the fix', async (flag, read) => {
  const path = join(await temporaryFolder(), 'gone');
  await expect(read(path)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(path) as string,
    hint: `Correct the path or the mode of the file that ${flag} names.`,
  });
});

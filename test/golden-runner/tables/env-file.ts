import { envFileValue } from '../../../src/engine/kuberuntime/request/env-file.ts';
import { orRefused } from '../or-refused.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  text: string;
  key: string;
  missing?: boolean;
}

export const envFile = tableAdapter<In>('env-file', ({ text, key, missing = false }) =>
  // The file itself is read by readEnvFiles, which refuses a missing one.
  missing ? { ok: false } : orRefused(() => ({ value: envFileValue(text, key) ?? '' })),
);

import { Redactor } from '../../src/engine/redaction/redactor.ts';
import { SecretValues } from '../../src/engine/redaction/secret-values.ts';

/** For tests without secrets to redact. */
export const plainRedactor = new Redactor({ secrets: new SecretValues() });

import { OutgoingText } from '../../src/engine/redaction/outgoing-text.ts';
import { SecretValues } from '../../src/engine/redaction/secret-values.ts';

/** For tests without secrets to redact. */
export const plainOutgoing = new OutgoingText({ secrets: new SecretValues() });

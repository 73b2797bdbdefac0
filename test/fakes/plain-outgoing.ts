import { OutgoingText } from '../../src/engine/redaction/outgoing-text.ts';
import { SecretValues } from '../../src/engine/redaction/secret-values.ts';

/** Where there is nothing to hide. */
export const plainOutgoing = new OutgoingText({ secrets: new SecretValues() });

-- Purpose: the shop's own books, in a schema of its own that the search path names.
-- Locks: run under an advisory lock, so that two shops may start at once; repeating it changes nothing.
-- Indexes: refunds_operation decides what a repeated refund is; the others serve look-ups by operation.
-- Caller: shop/ledger.py, at start.
--
-- `body` columns hold the caller's JSON as canonical ASCII text: it compares byte by byte and holds
-- whatever JSON can say (NUL and lone surrogates stay escapes).

CREATE TABLE IF NOT EXISTS orders (
    id text PRIMARY KEY,
    body text NOT NULL,
    currency text NOT NULL,
    total_minor bigint NOT NULL CHECK (total_minor >= 0),
    refunded_minor bigint NOT NULL CHECK (refunded_minor BETWEEN 0 AND total_minor)
);

CREATE TABLE IF NOT EXISTS refunds (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation_id text NOT NULL CONSTRAINT refunds_operation UNIQUE,
    order_id text NOT NULL REFERENCES orders,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    currency text NOT NULL,
    body text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE IF NOT EXISTS mails (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation_id text,
    order_id text,
    body text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS mails_operation ON mails (operation_id);

CREATE TABLE IF NOT EXISTS labels (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation_id text,
    order_id text,
    body text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS labels_operation ON labels (operation_id);

-- One row for each call that arrived. `status` is null while the call is still under way;
-- `effect` tells whether this very call committed one.
CREATE TABLE IF NOT EXISTS calls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    method text NOT NULL,
    path text NOT NULL,
    operation_id text,
    status int,
    effect boolean NOT NULL DEFAULT false,
    fault text,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS calls_operation ON calls (operation_id);

-- Writes the call's row, or completes the one written at its arrival (p_call).
CREATE OR REPLACE FUNCTION note_call(
    p_call bigint, p_method text, p_path text, p_operation text, p_status int, p_effect boolean,
    p_fault text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    noted bigint := p_call;
BEGIN
    IF p_call IS NULL THEN
        INSERT INTO calls (method, path, operation_id, status, effect, fault)
        VALUES (p_method, p_path, p_operation, p_status, p_effect, p_fault)
        RETURNING id INTO noted;
    ELSE
        UPDATE calls SET status = p_status, effect = p_effect WHERE id = p_call;
    END IF;
    RETURN noted;
END $$;

-- One order as it stands now; no row where there is none. The call is noted either way.
CREATE OR REPLACE FUNCTION read_order(p_call bigint, p_path text, p_order text, p_fault text)
RETURNS TABLE (body text, refunded_minor bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT o.body, o.refunded_minor FROM orders o WHERE o.id = p_order;
    PERFORM note_call(
        p_call, 'GET', p_path, NULL, CASE WHEN FOUND THEN 200 ELSE 404 END, false, p_fault);
END $$;

-- Pays back once for each operation id. The order's row lock comes first, so that two refunds of one
-- order, or two calls with one key, follow each other; each statement below sees what the other did.
CREATE OR REPLACE FUNCTION pay_refund(
    p_call bigint, p_path text, p_operation text, p_order text, p_amount bigint, p_currency text,
    p_body text, p_fault text
) RETURNS TABLE (status int, refund_id bigint, note text) LANGUAGE plpgsql AS $$
DECLARE
    the_order orders%ROWTYPE;
    earlier refunds%ROWTYPE;
BEGIN
    SELECT * INTO the_order FROM orders o WHERE o.id = p_order FOR UPDATE;
    SELECT * INTO earlier FROM refunds r WHERE r.operation_id = p_operation;
    IF earlier.id IS NOT NULL THEN
        refund_id := earlier.id;
        IF earlier.body = p_body THEN
            status := 200; note := 'replayed';
        ELSE
            status := 409; note := 'this operation id was used for another refund';
        END IF;
    ELSIF the_order.id IS NULL THEN
        status := 404; note := 'there is no such order';
    ELSIF the_order.currency <> p_currency THEN
        status := 422; note := 'the order is in ' || the_order.currency;
    ELSIF p_amount > the_order.total_minor - the_order.refunded_minor THEN
        status := 422;
        note := 'only ' || the_order.total_minor - the_order.refunded_minor || ' minor units are left to refund';
    ELSE
        INSERT INTO refunds (operation_id, order_id, amount_minor, currency, body)
        VALUES (p_operation, p_order, p_amount, p_currency, p_body)
        ON CONFLICT ON CONSTRAINT refunds_operation DO NOTHING
        RETURNING id INTO refund_id;
        IF refund_id IS NULL THEN
            -- The same key for another order won in this instant: by its body it is another refund.
            status := 409; note := 'this operation id was used for another refund';
        ELSE
            UPDATE orders o SET refunded_minor = o.refunded_minor + p_amount WHERE o.id = p_order;
            status := 201; note := 'settled';
        END IF;
    END IF;
    PERFORM note_call(p_call, 'POST', p_path, p_operation, status, status = 201, p_fault);
    RETURN NEXT;
END $$;

-- Sends a mail or prints a label: each call is one more, whatever its operation id.
CREATE OR REPLACE FUNCTION add_mail(
    p_call bigint, p_path text, p_operation text, p_order text, p_body text, p_fault text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    added bigint;
BEGIN
    INSERT INTO mails (operation_id, order_id, body) VALUES (p_operation, p_order, p_body)
    RETURNING id INTO added;
    PERFORM note_call(p_call, 'POST', p_path, p_operation, 201, true, p_fault);
    RETURN added;
END $$;

CREATE OR REPLACE FUNCTION add_label(
    p_call bigint, p_path text, p_operation text, p_order text, p_body text, p_fault text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    added bigint;
BEGIN
    INSERT INTO labels (operation_id, order_id, body) VALUES (p_operation, p_order, p_body)
    RETURNING id INTO added;
    PERFORM note_call(p_call, 'POST', p_path, p_operation, 201, true, p_fault);
    RETURN added;
END $$;
